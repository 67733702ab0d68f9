from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LifecycleHook(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LIFECYCLE_HOOK_UNSPECIFIED: _ClassVar[LifecycleHook]
    LIFECYCLE_HOOK_ON_SESSION_START: _ClassVar[LifecycleHook]
    LIFECYCLE_HOOK_ON_SESSION_END: _ClassVar[LifecycleHook]
    LIFECYCLE_HOOK_PRE_TURN: _ClassVar[LifecycleHook]
    LIFECYCLE_HOOK_POST_TURN: _ClassVar[LifecycleHook]
    LIFECYCLE_HOOK_PRE_TOOL: _ClassVar[LifecycleHook]
    LIFECYCLE_HOOK_POST_TOOL: _ClassVar[LifecycleHook]
    LIFECYCLE_HOOK_ON_TOOL_ERROR: _ClassVar[LifecycleHook]
    LIFECYCLE_HOOK_ON_COMPACTION: _ClassVar[LifecycleHook]
    LIFECYCLE_HOOK_STOP: _ClassVar[LifecycleHook]

class AgentBehavior(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AGENT_BEHAVIOR_UNSPECIFIED: _ClassVar[AgentBehavior]
    AGENT_BEHAVIOR_AUTONOMOUS: _ClassVar[AgentBehavior]
    AGENT_BEHAVIOR_INTERACTIVE: _ClassVar[AgentBehavior]
    AGENT_BEHAVIOR_MINIMAL: _ClassVar[AgentBehavior]

class ModelType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODEL_TYPE_UNSPECIFIED: _ClassVar[ModelType]
    MODEL_TYPE_TEXT: _ClassVar[ModelType]
    MODEL_TYPE_IMAGE: _ClassVar[ModelType]

class ToolExecutionMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_EXECUTION_MODE_UNSPECIFIED: _ClassVar[ToolExecutionMode]
    TOOL_EXECUTION_MODE_SYNC: _ClassVar[ToolExecutionMode]
    TOOL_EXECUTION_MODE_ASYNC: _ClassVar[ToolExecutionMode]

class PolicyDecision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POLICY_DECISION_UNSPECIFIED: _ClassVar[PolicyDecision]
    POLICY_DECISION_ALLOW: _ClassVar[PolicyDecision]
    POLICY_DECISION_DENY: _ClassVar[PolicyDecision]
    POLICY_DECISION_ASK_USER: _ClassVar[PolicyDecision]

class PolicyEvaluationOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POLICY_EVALUATION_OUTCOME_UNSPECIFIED: _ClassVar[PolicyEvaluationOutcome]
    POLICY_EVALUATION_OUTCOME_ALLOW: _ClassVar[PolicyEvaluationOutcome]
    POLICY_EVALUATION_OUTCOME_DENY: _ClassVar[PolicyEvaluationOutcome]
    POLICY_EVALUATION_OUTCOME_NO_MATCH: _ClassVar[PolicyEvaluationOutcome]

class Modality(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODALITY_UNSPECIFIED: _ClassVar[Modality]
    TEXT: _ClassVar[Modality]
    IMAGE: _ClassVar[Modality]
    VIDEO: _ClassVar[Modality]
    AUDIO: _ClassVar[Modality]
    DOCUMENT: _ClassVar[Modality]
LIFECYCLE_HOOK_UNSPECIFIED: LifecycleHook
LIFECYCLE_HOOK_ON_SESSION_START: LifecycleHook
LIFECYCLE_HOOK_ON_SESSION_END: LifecycleHook
LIFECYCLE_HOOK_PRE_TURN: LifecycleHook
LIFECYCLE_HOOK_POST_TURN: LifecycleHook
LIFECYCLE_HOOK_PRE_TOOL: LifecycleHook
LIFECYCLE_HOOK_POST_TOOL: LifecycleHook
LIFECYCLE_HOOK_ON_TOOL_ERROR: LifecycleHook
LIFECYCLE_HOOK_ON_COMPACTION: LifecycleHook
LIFECYCLE_HOOK_STOP: LifecycleHook
AGENT_BEHAVIOR_UNSPECIFIED: AgentBehavior
AGENT_BEHAVIOR_AUTONOMOUS: AgentBehavior
AGENT_BEHAVIOR_INTERACTIVE: AgentBehavior
AGENT_BEHAVIOR_MINIMAL: AgentBehavior
MODEL_TYPE_UNSPECIFIED: ModelType
MODEL_TYPE_TEXT: ModelType
MODEL_TYPE_IMAGE: ModelType
TOOL_EXECUTION_MODE_UNSPECIFIED: ToolExecutionMode
TOOL_EXECUTION_MODE_SYNC: ToolExecutionMode
TOOL_EXECUTION_MODE_ASYNC: ToolExecutionMode
POLICY_DECISION_UNSPECIFIED: PolicyDecision
POLICY_DECISION_ALLOW: PolicyDecision
POLICY_DECISION_DENY: PolicyDecision
POLICY_DECISION_ASK_USER: PolicyDecision
POLICY_EVALUATION_OUTCOME_UNSPECIFIED: PolicyEvaluationOutcome
POLICY_EVALUATION_OUTCOME_ALLOW: PolicyEvaluationOutcome
POLICY_EVALUATION_OUTCOME_DENY: PolicyEvaluationOutcome
POLICY_EVALUATION_OUTCOME_NO_MATCH: PolicyEvaluationOutcome
MODALITY_UNSPECIFIED: Modality
TEXT: Modality
IMAGE: Modality
VIDEO: Modality
AUDIO: Modality
DOCUMENT: Modality

class InputConfig(_message.Message):
    __slots__ = ("storage_directory", "port", "bind_address", "client_info", "env", "use_interactions_api")
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    STORAGE_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    BIND_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CLIENT_INFO_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    USE_INTERACTIONS_API_FIELD_NUMBER: _ClassVar[int]
    storage_directory: str
    port: int
    bind_address: str
    client_info: ClientInfo
    env: _containers.ScalarMap[str, str]
    use_interactions_api: bool
    def __init__(self, storage_directory: _Optional[str] = ..., port: _Optional[int] = ..., bind_address: _Optional[str] = ..., client_info: _Optional[_Union[ClientInfo, _Mapping]] = ..., env: _Optional[_Mapping[str, str]] = ..., use_interactions_api: bool = ...) -> None: ...

class ClientInfo(_message.Message):
    __slots__ = ("language", "version", "language_version", "os", "os_version")
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_VERSION_FIELD_NUMBER: _ClassVar[int]
    OS_FIELD_NUMBER: _ClassVar[int]
    OS_VERSION_FIELD_NUMBER: _ClassVar[int]
    language: str
    version: str
    language_version: str
    os: str
    os_version: str
    def __init__(self, language: _Optional[str] = ..., version: _Optional[str] = ..., language_version: _Optional[str] = ..., os: _Optional[str] = ..., os_version: _Optional[str] = ...) -> None: ...

class OutputConfig(_message.Message):
    __slots__ = ("port", "api_key")
    PORT_FIELD_NUMBER: _ClassVar[int]
    API_KEY_FIELD_NUMBER: _ClassVar[int]
    port: int
    api_key: str
    def __init__(self, port: _Optional[int] = ..., api_key: _Optional[str] = ...) -> None: ...

class InitializeConversationEvent(_message.Message):
    __slots__ = ("config",)
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    config: HarnessConfig
    def __init__(self, config: _Optional[_Union[HarnessConfig, _Mapping]] = ...) -> None: ...

class HarnessConfig(_message.Message):
    __slots__ = ("cascade_id", "system_instructions", "tools", "harness_side_tools", "compaction_threshold", "workspaces", "skills_paths", "finish_tool_schema_json", "initial_trajectory", "app_data_dir", "mcp_servers", "models", "enabled_hooks", "custom_subagents", "tool_output_truncation", "session_continuation_mode", "retry_config", "policy_config", "agent_behavior", "budget_config", "compaction_config", "skills_config", "rules_config", "mcp_max_output_bytes")
    class SessionContinuationMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SESSION_CONTINUATION_MODE_UNSPECIFIED: _ClassVar[HarnessConfig.SessionContinuationMode]
        RESUME: _ClassVar[HarnessConfig.SessionContinuationMode]
        CREATE_OR_RESUME: _ClassVar[HarnessConfig.SessionContinuationMode]
        CREATE_ONLY: _ClassVar[HarnessConfig.SessionContinuationMode]
    SESSION_CONTINUATION_MODE_UNSPECIFIED: HarnessConfig.SessionContinuationMode
    RESUME: HarnessConfig.SessionContinuationMode
    CREATE_OR_RESUME: HarnessConfig.SessionContinuationMode
    CREATE_ONLY: HarnessConfig.SessionContinuationMode
    CASCADE_ID_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    HARNESS_SIDE_TOOLS_FIELD_NUMBER: _ClassVar[int]
    COMPACTION_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    WORKSPACES_FIELD_NUMBER: _ClassVar[int]
    SKILLS_PATHS_FIELD_NUMBER: _ClassVar[int]
    FINISH_TOOL_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    INITIAL_TRAJECTORY_FIELD_NUMBER: _ClassVar[int]
    APP_DATA_DIR_FIELD_NUMBER: _ClassVar[int]
    MCP_SERVERS_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    ENABLED_HOOKS_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_SUBAGENTS_FIELD_NUMBER: _ClassVar[int]
    TOOL_OUTPUT_TRUNCATION_FIELD_NUMBER: _ClassVar[int]
    SESSION_CONTINUATION_MODE_FIELD_NUMBER: _ClassVar[int]
    RETRY_CONFIG_FIELD_NUMBER: _ClassVar[int]
    POLICY_CONFIG_FIELD_NUMBER: _ClassVar[int]
    AGENT_BEHAVIOR_FIELD_NUMBER: _ClassVar[int]
    BUDGET_CONFIG_FIELD_NUMBER: _ClassVar[int]
    COMPACTION_CONFIG_FIELD_NUMBER: _ClassVar[int]
    SKILLS_CONFIG_FIELD_NUMBER: _ClassVar[int]
    RULES_CONFIG_FIELD_NUMBER: _ClassVar[int]
    MCP_MAX_OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    cascade_id: str
    system_instructions: SystemInstructions
    tools: _containers.RepeatedCompositeFieldContainer[Tool]
    harness_side_tools: HarnessSideTools
    compaction_threshold: int
    workspaces: _containers.RepeatedCompositeFieldContainer[Workspace]
    skills_paths: _containers.RepeatedScalarFieldContainer[str]
    finish_tool_schema_json: str
    initial_trajectory: bytes
    app_data_dir: str
    mcp_servers: _containers.RepeatedCompositeFieldContainer[McpServerConfig]
    models: _containers.RepeatedCompositeFieldContainer[ModelConfig]
    enabled_hooks: _containers.RepeatedScalarFieldContainer[LifecycleHook]
    custom_subagents: _containers.RepeatedCompositeFieldContainer[CustomAgent]
    tool_output_truncation: ToolOutputTruncation
    session_continuation_mode: HarnessConfig.SessionContinuationMode
    retry_config: RetryConfig
    policy_config: PolicyConfig
    agent_behavior: AgentBehavior
    budget_config: BudgetConfig
    compaction_config: CompactionConfig
    skills_config: SkillsConfig
    rules_config: RulesConfig
    mcp_max_output_bytes: int
    def __init__(self, cascade_id: _Optional[str] = ..., system_instructions: _Optional[_Union[SystemInstructions, _Mapping]] = ..., tools: _Optional[_Iterable[_Union[Tool, _Mapping]]] = ..., harness_side_tools: _Optional[_Union[HarnessSideTools, _Mapping]] = ..., compaction_threshold: _Optional[int] = ..., workspaces: _Optional[_Iterable[_Union[Workspace, _Mapping]]] = ..., skills_paths: _Optional[_Iterable[str]] = ..., finish_tool_schema_json: _Optional[str] = ..., initial_trajectory: _Optional[bytes] = ..., app_data_dir: _Optional[str] = ..., mcp_servers: _Optional[_Iterable[_Union[McpServerConfig, _Mapping]]] = ..., models: _Optional[_Iterable[_Union[ModelConfig, _Mapping]]] = ..., enabled_hooks: _Optional[_Iterable[_Union[LifecycleHook, str]]] = ..., custom_subagents: _Optional[_Iterable[_Union[CustomAgent, _Mapping]]] = ..., tool_output_truncation: _Optional[_Union[ToolOutputTruncation, _Mapping]] = ..., session_continuation_mode: _Optional[_Union[HarnessConfig.SessionContinuationMode, str]] = ..., retry_config: _Optional[_Union[RetryConfig, _Mapping]] = ..., policy_config: _Optional[_Union[PolicyConfig, _Mapping]] = ..., agent_behavior: _Optional[_Union[AgentBehavior, str]] = ..., budget_config: _Optional[_Union[BudgetConfig, _Mapping]] = ..., compaction_config: _Optional[_Union[CompactionConfig, _Mapping]] = ..., skills_config: _Optional[_Union[SkillsConfig, _Mapping]] = ..., rules_config: _Optional[_Union[RulesConfig, _Mapping]] = ..., mcp_max_output_bytes: _Optional[int] = ...) -> None: ...

class Workspace(_message.Message):
    __slots__ = ("filesystem_workspace",)
    FILESYSTEM_WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    filesystem_workspace: FilesystemWorkspace
    def __init__(self, filesystem_workspace: _Optional[_Union[FilesystemWorkspace, _Mapping]] = ...) -> None: ...

class FilesystemWorkspace(_message.Message):
    __slots__ = ("directory",)
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    directory: str
    def __init__(self, directory: _Optional[str] = ...) -> None: ...

class ModelConfig(_message.Message):
    __slots__ = ("name", "types", "gemini_api_endpoint", "vertex_endpoint", "gemma_endpoint", "custom_endpoint")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    GEMINI_API_ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    VERTEX_ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    GEMMA_ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    name: str
    types: _containers.RepeatedScalarFieldContainer[ModelType]
    gemini_api_endpoint: GeminiAPIEndpoint
    vertex_endpoint: VertexEndpoint
    gemma_endpoint: GemmaEndpoint
    custom_endpoint: CustomEndpoint
    def __init__(self, name: _Optional[str] = ..., types: _Optional[_Iterable[_Union[ModelType, str]]] = ..., gemini_api_endpoint: _Optional[_Union[GeminiAPIEndpoint, _Mapping]] = ..., vertex_endpoint: _Optional[_Union[VertexEndpoint, _Mapping]] = ..., gemma_endpoint: _Optional[_Union[GemmaEndpoint, _Mapping]] = ..., custom_endpoint: _Optional[_Union[CustomEndpoint, _Mapping]] = ...) -> None: ...

class GeminiAPIEndpoint(_message.Message):
    __slots__ = ("base_url", "http_headers", "api_key", "options")
    class HttpHeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    BASE_URL_FIELD_NUMBER: _ClassVar[int]
    HTTP_HEADERS_FIELD_NUMBER: _ClassVar[int]
    API_KEY_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    base_url: str
    http_headers: _containers.ScalarMap[str, str]
    api_key: str
    options: GeminiModelOptions
    def __init__(self, base_url: _Optional[str] = ..., http_headers: _Optional[_Mapping[str, str]] = ..., api_key: _Optional[str] = ..., options: _Optional[_Union[GeminiModelOptions, _Mapping]] = ...) -> None: ...

class VertexEndpoint(_message.Message):
    __slots__ = ("base_url", "http_headers", "project", "location", "options", "api_key")
    class HttpHeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    BASE_URL_FIELD_NUMBER: _ClassVar[int]
    HTTP_HEADERS_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    API_KEY_FIELD_NUMBER: _ClassVar[int]
    base_url: str
    http_headers: _containers.ScalarMap[str, str]
    project: str
    location: str
    options: GeminiModelOptions
    api_key: str
    def __init__(self, base_url: _Optional[str] = ..., http_headers: _Optional[_Mapping[str, str]] = ..., project: _Optional[str] = ..., location: _Optional[str] = ..., options: _Optional[_Union[GeminiModelOptions, _Mapping]] = ..., api_key: _Optional[str] = ...) -> None: ...

class GemmaEndpoint(_message.Message):
    __slots__ = ("base_url",)
    BASE_URL_FIELD_NUMBER: _ClassVar[int]
    base_url: str
    def __init__(self, base_url: _Optional[str] = ...) -> None: ...

class CustomEndpoint(_message.Message):
    __slots__ = ("backend_type", "config_json")
    BACKEND_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    backend_type: str
    config_json: str
    def __init__(self, backend_type: _Optional[str] = ..., config_json: _Optional[str] = ...) -> None: ...

class GeminiModelOptions(_message.Message):
    __slots__ = ("thinking_level", "service_tier", "max_output_tokens")
    THINKING_LEVEL_FIELD_NUMBER: _ClassVar[int]
    SERVICE_TIER_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    thinking_level: str
    service_tier: str
    max_output_tokens: int
    def __init__(self, thinking_level: _Optional[str] = ..., service_tier: _Optional[str] = ..., max_output_tokens: _Optional[int] = ...) -> None: ...

class SystemInstructions(_message.Message):
    __slots__ = ("custom", "appended", "overrides")
    CUSTOM_FIELD_NUMBER: _ClassVar[int]
    APPENDED_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    custom: CustomSystemInstructions
    appended: AppendedSystemInstructions
    overrides: _containers.RepeatedCompositeFieldContainer[TemplateOverride]
    def __init__(self, custom: _Optional[_Union[CustomSystemInstructions, _Mapping]] = ..., appended: _Optional[_Union[AppendedSystemInstructions, _Mapping]] = ..., overrides: _Optional[_Iterable[_Union[TemplateOverride, _Mapping]]] = ...) -> None: ...

class CustomSystemInstructions(_message.Message):
    __slots__ = ("part",)
    class Part(_message.Message):
        __slots__ = ("text", "template", "builtin_section")
        TEXT_FIELD_NUMBER: _ClassVar[int]
        TEMPLATE_FIELD_NUMBER: _ClassVar[int]
        BUILTIN_SECTION_FIELD_NUMBER: _ClassVar[int]
        text: str
        template: SystemInstructionTemplate
        builtin_section: str
        def __init__(self, text: _Optional[str] = ..., template: _Optional[_Union[SystemInstructionTemplate, _Mapping]] = ..., builtin_section: _Optional[str] = ...) -> None: ...
    PART_FIELD_NUMBER: _ClassVar[int]
    part: _containers.RepeatedCompositeFieldContainer[CustomSystemInstructions.Part]
    def __init__(self, part: _Optional[_Iterable[_Union[CustomSystemInstructions.Part, _Mapping]]] = ...) -> None: ...

class AppendedSystemInstructions(_message.Message):
    __slots__ = ("custom_identity", "appended_sections")
    class Section(_message.Message):
        __slots__ = ("title", "content")
        TITLE_FIELD_NUMBER: _ClassVar[int]
        CONTENT_FIELD_NUMBER: _ClassVar[int]
        title: str
        content: str
        def __init__(self, title: _Optional[str] = ..., content: _Optional[str] = ...) -> None: ...
    CUSTOM_IDENTITY_FIELD_NUMBER: _ClassVar[int]
    APPENDED_SECTIONS_FIELD_NUMBER: _ClassVar[int]
    custom_identity: str
    appended_sections: _containers.RepeatedCompositeFieldContainer[AppendedSystemInstructions.Section]
    def __init__(self, custom_identity: _Optional[str] = ..., appended_sections: _Optional[_Iterable[_Union[AppendedSystemInstructions.Section, _Mapping]]] = ...) -> None: ...

class SystemInstructionTemplate(_message.Message):
    __slots__ = ("name", "args", "template_name")
    class Arg(_message.Message):
        __slots__ = ("name", "value")
        NAME_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        name: str
        value: str
        def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    args: _containers.RepeatedCompositeFieldContainer[SystemInstructionTemplate.Arg]
    template_name: str
    def __init__(self, name: _Optional[str] = ..., args: _Optional[_Iterable[_Union[SystemInstructionTemplate.Arg, _Mapping]]] = ..., template_name: _Optional[str] = ...) -> None: ...

class TemplateOverride(_message.Message):
    __slots__ = ("title", "text", "remove", "si_template")
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    SI_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    title: str
    text: str
    remove: bool
    si_template: _containers.RepeatedCompositeFieldContainer[SystemInstructionTemplate]
    def __init__(self, title: _Optional[str] = ..., text: _Optional[str] = ..., remove: bool = ..., si_template: _Optional[_Iterable[_Union[SystemInstructionTemplate, _Mapping]]] = ...) -> None: ...

class Tool(_message.Message):
    __slots__ = ("name", "description", "parameters_json_schema", "response_json_schema", "defer_loading")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_JSON_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_JSON_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    DEFER_LOADING_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    parameters_json_schema: str
    response_json_schema: str
    defer_loading: bool
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., parameters_json_schema: _Optional[str] = ..., response_json_schema: _Optional[str] = ..., defer_loading: bool = ...) -> None: ...

class HarnessSideTools(_message.Message):
    __slots__ = ("find", "run_command", "subagents", "user_questions", "file_edit", "view_file", "write_to_file", "grep_search", "list_dir", "permissions", "generate_image", "search_web", "code_search", "read_url_content", "tool_search_config", "manage_task", "schedule", "run_workflow")
    FIND_FIELD_NUMBER: _ClassVar[int]
    RUN_COMMAND_FIELD_NUMBER: _ClassVar[int]
    SUBAGENTS_FIELD_NUMBER: _ClassVar[int]
    USER_QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    FILE_EDIT_FIELD_NUMBER: _ClassVar[int]
    VIEW_FILE_FIELD_NUMBER: _ClassVar[int]
    WRITE_TO_FILE_FIELD_NUMBER: _ClassVar[int]
    GREP_SEARCH_FIELD_NUMBER: _ClassVar[int]
    LIST_DIR_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    GENERATE_IMAGE_FIELD_NUMBER: _ClassVar[int]
    SEARCH_WEB_FIELD_NUMBER: _ClassVar[int]
    CODE_SEARCH_FIELD_NUMBER: _ClassVar[int]
    READ_URL_CONTENT_FIELD_NUMBER: _ClassVar[int]
    TOOL_SEARCH_CONFIG_FIELD_NUMBER: _ClassVar[int]
    MANAGE_TASK_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    RUN_WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    find: FindToolConfig
    run_command: RunCommandToolConfig
    subagents: SubagentsConfig
    user_questions: UserQuestionsConfig
    file_edit: FileEditToolConfig
    view_file: ViewFileToolConfig
    write_to_file: WriteToFileToolConfig
    grep_search: GrepSearchToolConfig
    list_dir: ListDirToolConfig
    permissions: PermissionsConfig
    generate_image: GenerateImageToolConfig
    search_web: SearchWebToolConfig
    code_search: CodeSearchToolConfig
    read_url_content: ReadUrlContentToolConfig
    tool_search_config: ToolSearchConfig
    manage_task: ManageTaskToolConfig
    schedule: ScheduleToolConfig
    run_workflow: RunWorkflowToolConfig
    def __init__(self, find: _Optional[_Union[FindToolConfig, _Mapping]] = ..., run_command: _Optional[_Union[RunCommandToolConfig, _Mapping]] = ..., subagents: _Optional[_Union[SubagentsConfig, _Mapping]] = ..., user_questions: _Optional[_Union[UserQuestionsConfig, _Mapping]] = ..., file_edit: _Optional[_Union[FileEditToolConfig, _Mapping]] = ..., view_file: _Optional[_Union[ViewFileToolConfig, _Mapping]] = ..., write_to_file: _Optional[_Union[WriteToFileToolConfig, _Mapping]] = ..., grep_search: _Optional[_Union[GrepSearchToolConfig, _Mapping]] = ..., list_dir: _Optional[_Union[ListDirToolConfig, _Mapping]] = ..., permissions: _Optional[_Union[PermissionsConfig, _Mapping]] = ..., generate_image: _Optional[_Union[GenerateImageToolConfig, _Mapping]] = ..., search_web: _Optional[_Union[SearchWebToolConfig, _Mapping]] = ..., code_search: _Optional[_Union[CodeSearchToolConfig, _Mapping]] = ..., read_url_content: _Optional[_Union[ReadUrlContentToolConfig, _Mapping]] = ..., tool_search_config: _Optional[_Union[ToolSearchConfig, _Mapping]] = ..., manage_task: _Optional[_Union[ManageTaskToolConfig, _Mapping]] = ..., schedule: _Optional[_Union[ScheduleToolConfig, _Mapping]] = ..., run_workflow: _Optional[_Union[RunWorkflowToolConfig, _Mapping]] = ...) -> None: ...

class FindToolConfig(_message.Message):
    __slots__ = ("enabled", "use_code_search", "disable_fallback_to_local_execution")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    USE_CODE_SEARCH_FIELD_NUMBER: _ClassVar[int]
    DISABLE_FALLBACK_TO_LOCAL_EXECUTION_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    use_code_search: bool
    disable_fallback_to_local_execution: bool
    def __init__(self, enabled: bool = ..., use_code_search: bool = ..., disable_fallback_to_local_execution: bool = ...) -> None: ...

class RunCommandToolConfig(_message.Message):
    __slots__ = ("enabled", "max_timeout_ms", "enable_daemon_commands", "enable_sandbox", "execution_mode")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    MAX_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    ENABLE_DAEMON_COMMANDS_FIELD_NUMBER: _ClassVar[int]
    ENABLE_SANDBOX_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_MODE_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    max_timeout_ms: int
    enable_daemon_commands: bool
    enable_sandbox: bool
    execution_mode: ToolExecutionMode
    def __init__(self, enabled: bool = ..., max_timeout_ms: _Optional[int] = ..., enable_daemon_commands: bool = ..., enable_sandbox: bool = ..., execution_mode: _Optional[_Union[ToolExecutionMode, str]] = ...) -> None: ...

class SubagentsConfig(_message.Message):
    __slots__ = ("enabled", "max_nesting_depth", "allowed_subagents")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    MAX_NESTING_DEPTH_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_SUBAGENTS_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    max_nesting_depth: int
    allowed_subagents: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, enabled: bool = ..., max_nesting_depth: _Optional[int] = ..., allowed_subagents: _Optional[_Iterable[str]] = ...) -> None: ...

class UserQuestionsConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class FileEditToolConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class ViewFileToolConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class WriteToFileToolConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class GrepSearchToolConfig(_message.Message):
    __slots__ = ("enabled", "use_code_search", "disable_fallback_to_local_execution")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    USE_CODE_SEARCH_FIELD_NUMBER: _ClassVar[int]
    DISABLE_FALLBACK_TO_LOCAL_EXECUTION_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    use_code_search: bool
    disable_fallback_to_local_execution: bool
    def __init__(self, enabled: bool = ..., use_code_search: bool = ..., disable_fallback_to_local_execution: bool = ...) -> None: ...

class ListDirToolConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class PermissionsConfig(_message.Message):
    __slots__ = ("enforce_workspace_validation",)
    ENFORCE_WORKSPACE_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    enforce_workspace_validation: bool
    def __init__(self, enforce_workspace_validation: bool = ...) -> None: ...

class GenerateImageToolConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class SearchWebToolConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class CodeSearchToolConfig(_message.Message):
    __slots__ = ("enabled", "g3box_config", "restrict_to_google")
    class G3BoxConfig(_message.Message):
        __slots__ = ("max_retries", "retry_backoff_ms", "max_retry_backoff_ms", "timeout_ms", "rpc_timeout_ms")
        MAX_RETRIES_FIELD_NUMBER: _ClassVar[int]
        RETRY_BACKOFF_MS_FIELD_NUMBER: _ClassVar[int]
        MAX_RETRY_BACKOFF_MS_FIELD_NUMBER: _ClassVar[int]
        TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
        RPC_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
        max_retries: int
        retry_backoff_ms: int
        max_retry_backoff_ms: int
        timeout_ms: int
        rpc_timeout_ms: int
        def __init__(self, max_retries: _Optional[int] = ..., retry_backoff_ms: _Optional[int] = ..., max_retry_backoff_ms: _Optional[int] = ..., timeout_ms: _Optional[int] = ..., rpc_timeout_ms: _Optional[int] = ...) -> None: ...
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    G3BOX_CONFIG_FIELD_NUMBER: _ClassVar[int]
    RESTRICT_TO_GOOGLE_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    g3box_config: CodeSearchToolConfig.G3BoxConfig
    restrict_to_google: bool
    def __init__(self, enabled: bool = ..., g3box_config: _Optional[_Union[CodeSearchToolConfig.G3BoxConfig, _Mapping]] = ..., restrict_to_google: bool = ...) -> None: ...

class ReadUrlContentToolConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class ToolSearchConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class ManageTaskToolConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class ScheduleToolConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class RunWorkflowToolConfig(_message.Message):
    __slots__ = ("enabled", "execution_mode")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_MODE_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    execution_mode: ToolExecutionMode
    def __init__(self, enabled: bool = ..., execution_mode: _Optional[_Union[ToolExecutionMode, str]] = ...) -> None: ...

class ToolOutputTruncation(_message.Message):
    __slots__ = ("truncate", "error")
    class TruncateStrategy(_message.Message):
        __slots__ = ("max_tokens", "save_full_output")
        MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
        SAVE_FULL_OUTPUT_FIELD_NUMBER: _ClassVar[int]
        max_tokens: int
        save_full_output: bool
        def __init__(self, max_tokens: _Optional[int] = ..., save_full_output: bool = ...) -> None: ...
    class ErrorStrategy(_message.Message):
        __slots__ = ("max_tokens", "error_message")
        MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
        ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
        max_tokens: int
        error_message: str
        def __init__(self, max_tokens: _Optional[int] = ..., error_message: _Optional[str] = ...) -> None: ...
    TRUNCATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    truncate: ToolOutputTruncation.TruncateStrategy
    error: ToolOutputTruncation.ErrorStrategy
    def __init__(self, truncate: _Optional[_Union[ToolOutputTruncation.TruncateStrategy, _Mapping]] = ..., error: _Optional[_Union[ToolOutputTruncation.ErrorStrategy, _Mapping]] = ...) -> None: ...

class McpServerConfig(_message.Message):
    __slots__ = ("name", "stdio", "http", "enabled_tools", "disabled_tools", "auth_provider_type", "timeout_seconds", "force_all_tools_eager")
    class AuthProviderType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        AUTH_PROVIDER_TYPE_UNSPECIFIED: _ClassVar[McpServerConfig.AuthProviderType]
        AUTH_PROVIDER_TYPE_GOOGLE_CREDENTIALS: _ClassVar[McpServerConfig.AuthProviderType]
    AUTH_PROVIDER_TYPE_UNSPECIFIED: McpServerConfig.AuthProviderType
    AUTH_PROVIDER_TYPE_GOOGLE_CREDENTIALS: McpServerConfig.AuthProviderType
    NAME_FIELD_NUMBER: _ClassVar[int]
    STDIO_FIELD_NUMBER: _ClassVar[int]
    HTTP_FIELD_NUMBER: _ClassVar[int]
    ENABLED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    DISABLED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    AUTH_PROVIDER_TYPE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    FORCE_ALL_TOOLS_EAGER_FIELD_NUMBER: _ClassVar[int]
    name: str
    stdio: McpStdioTransport
    http: McpHttpTransport
    enabled_tools: _containers.RepeatedScalarFieldContainer[str]
    disabled_tools: _containers.RepeatedScalarFieldContainer[str]
    auth_provider_type: McpServerConfig.AuthProviderType
    timeout_seconds: int
    force_all_tools_eager: bool
    def __init__(self, name: _Optional[str] = ..., stdio: _Optional[_Union[McpStdioTransport, _Mapping]] = ..., http: _Optional[_Union[McpHttpTransport, _Mapping]] = ..., enabled_tools: _Optional[_Iterable[str]] = ..., disabled_tools: _Optional[_Iterable[str]] = ..., auth_provider_type: _Optional[_Union[McpServerConfig.AuthProviderType, str]] = ..., timeout_seconds: _Optional[int] = ..., force_all_tools_eager: bool = ...) -> None: ...

class McpStdioTransport(_message.Message):
    __slots__ = ("command", "args", "env")
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    command: str
    args: _containers.RepeatedScalarFieldContainer[str]
    env: _containers.ScalarMap[str, str]
    def __init__(self, command: _Optional[str] = ..., args: _Optional[_Iterable[str]] = ..., env: _Optional[_Mapping[str, str]] = ...) -> None: ...

class McpHttpTransport(_message.Message):
    __slots__ = ("url", "headers")
    class HeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    URL_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    url: str
    headers: _containers.ScalarMap[str, str]
    def __init__(self, url: _Optional[str] = ..., headers: _Optional[_Mapping[str, str]] = ...) -> None: ...

class CustomAgent(_message.Message):
    __slots__ = ("name", "description", "system_instructions", "harness_side_tools", "tools", "skills_config", "agent_behavior", "model")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    HARNESS_SIDE_TOOLS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    SKILLS_CONFIG_FIELD_NUMBER: _ClassVar[int]
    AGENT_BEHAVIOR_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    system_instructions: SystemInstructions
    harness_side_tools: HarnessSideTools
    tools: _containers.RepeatedCompositeFieldContainer[Tool]
    skills_config: SubagentSkillsConfig
    agent_behavior: AgentBehavior
    model: ModelConfig
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., system_instructions: _Optional[_Union[SystemInstructions, _Mapping]] = ..., harness_side_tools: _Optional[_Union[HarnessSideTools, _Mapping]] = ..., tools: _Optional[_Iterable[_Union[Tool, _Mapping]]] = ..., skills_config: _Optional[_Union[SubagentSkillsConfig, _Mapping]] = ..., agent_behavior: _Optional[_Union[AgentBehavior, str]] = ..., model: _Optional[_Union[ModelConfig, _Mapping]] = ...) -> None: ...

class SubagentSkillsConfig(_message.Message):
    __slots__ = ("inherit_config", "none_config", "override_config")
    class InheritConfig(_message.Message):
        __slots__ = ("extra_skills_paths", "skill_names")
        EXTRA_SKILLS_PATHS_FIELD_NUMBER: _ClassVar[int]
        SKILL_NAMES_FIELD_NUMBER: _ClassVar[int]
        extra_skills_paths: _containers.RepeatedScalarFieldContainer[str]
        skill_names: _containers.RepeatedScalarFieldContainer[str]
        def __init__(self, extra_skills_paths: _Optional[_Iterable[str]] = ..., skill_names: _Optional[_Iterable[str]] = ...) -> None: ...
    class NoneConfig(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class OverrideConfig(_message.Message):
        __slots__ = ("skills_paths", "skill_sources")
        SKILLS_PATHS_FIELD_NUMBER: _ClassVar[int]
        SKILL_SOURCES_FIELD_NUMBER: _ClassVar[int]
        skills_paths: _containers.RepeatedScalarFieldContainer[str]
        skill_sources: _containers.RepeatedCompositeFieldContainer[SkillSource]
        def __init__(self, skills_paths: _Optional[_Iterable[str]] = ..., skill_sources: _Optional[_Iterable[_Union[SkillSource, _Mapping]]] = ...) -> None: ...
    INHERIT_CONFIG_FIELD_NUMBER: _ClassVar[int]
    NONE_CONFIG_FIELD_NUMBER: _ClassVar[int]
    OVERRIDE_CONFIG_FIELD_NUMBER: _ClassVar[int]
    inherit_config: SubagentSkillsConfig.InheritConfig
    none_config: SubagentSkillsConfig.NoneConfig
    override_config: SubagentSkillsConfig.OverrideConfig
    def __init__(self, inherit_config: _Optional[_Union[SubagentSkillsConfig.InheritConfig, _Mapping]] = ..., none_config: _Optional[_Union[SubagentSkillsConfig.NoneConfig, _Mapping]] = ..., override_config: _Optional[_Union[SubagentSkillsConfig.OverrideConfig, _Mapping]] = ...) -> None: ...

class SkillsConfig(_message.Message):
    __slots__ = ("enabled", "skills")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    SKILLS_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    skills: _containers.RepeatedCompositeFieldContainer[SkillSource]
    def __init__(self, enabled: bool = ..., skills: _Optional[_Iterable[_Union[SkillSource, _Mapping]]] = ...) -> None: ...

class SkillSource(_message.Message):
    __slots__ = ("skill", "directory_path")
    SKILL_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_PATH_FIELD_NUMBER: _ClassVar[int]
    skill: Skill
    directory_path: str
    def __init__(self, skill: _Optional[_Union[Skill, _Mapping]] = ..., directory_path: _Optional[str] = ...) -> None: ...

class Skill(_message.Message):
    __slots__ = ("name", "skill_id", "description", "content", "allowed_tools", "metadata", "inline_resources", "zipped_resources")
    class InlineResources(_message.Message):
        __slots__ = ("resources",)
        class ResourcesEntry(_message.Message):
            __slots__ = ("key", "value")
            KEY_FIELD_NUMBER: _ClassVar[int]
            VALUE_FIELD_NUMBER: _ClassVar[int]
            key: str
            value: SkillFile
            def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[SkillFile, _Mapping]] = ...) -> None: ...
        RESOURCES_FIELD_NUMBER: _ClassVar[int]
        resources: _containers.MessageMap[str, SkillFile]
        def __init__(self, resources: _Optional[_Mapping[str, SkillFile]] = ...) -> None: ...
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    SKILL_ID_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    INLINE_RESOURCES_FIELD_NUMBER: _ClassVar[int]
    ZIPPED_RESOURCES_FIELD_NUMBER: _ClassVar[int]
    name: str
    skill_id: str
    description: str
    content: str
    allowed_tools: _containers.RepeatedScalarFieldContainer[str]
    metadata: _containers.ScalarMap[str, str]
    inline_resources: Skill.InlineResources
    zipped_resources: SkillFile
    def __init__(self, name: _Optional[str] = ..., skill_id: _Optional[str] = ..., description: _Optional[str] = ..., content: _Optional[str] = ..., allowed_tools: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., inline_resources: _Optional[_Union[Skill.InlineResources, _Mapping]] = ..., zipped_resources: _Optional[_Union[SkillFile, _Mapping]] = ...) -> None: ...

class SkillFile(_message.Message):
    __slots__ = ("mime_type", "text", "data")
    MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    mime_type: str
    text: str
    data: bytes
    def __init__(self, mime_type: _Optional[str] = ..., text: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class RulesConfig(_message.Message):
    __slots__ = ("filenames",)
    FILENAMES_FIELD_NUMBER: _ClassVar[int]
    filenames: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, filenames: _Optional[_Iterable[str]] = ...) -> None: ...

class RetryConfig(_message.Message):
    __slots__ = ("api_retry", "model_output_retry")
    API_RETRY_FIELD_NUMBER: _ClassVar[int]
    MODEL_OUTPUT_RETRY_FIELD_NUMBER: _ClassVar[int]
    api_retry: ModelAPIRetryConfig
    model_output_retry: ModelOutputRetryConfig
    def __init__(self, api_retry: _Optional[_Union[ModelAPIRetryConfig, _Mapping]] = ..., model_output_retry: _Optional[_Union[ModelOutputRetryConfig, _Mapping]] = ...) -> None: ...

class ModelAPIRetryConfig(_message.Message):
    __slots__ = ("max_retries", "initial_sleep_duration_ms", "exponential_multiplier", "jitter_range")
    MAX_RETRIES_FIELD_NUMBER: _ClassVar[int]
    INITIAL_SLEEP_DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    EXPONENTIAL_MULTIPLIER_FIELD_NUMBER: _ClassVar[int]
    JITTER_RANGE_FIELD_NUMBER: _ClassVar[int]
    max_retries: int
    initial_sleep_duration_ms: int
    exponential_multiplier: float
    jitter_range: float
    def __init__(self, max_retries: _Optional[int] = ..., initial_sleep_duration_ms: _Optional[int] = ..., exponential_multiplier: _Optional[float] = ..., jitter_range: _Optional[float] = ...) -> None: ...

class ModelOutputRetryConfig(_message.Message):
    __slots__ = ("max_retries",)
    MAX_RETRIES_FIELD_NUMBER: _ClassVar[int]
    max_retries: int
    def __init__(self, max_retries: _Optional[int] = ...) -> None: ...

class BudgetConfig(_message.Message):
    __slots__ = ("max_model_calls", "max_tool_calls", "max_input_tokens", "max_output_tokens", "max_total_tokens", "scope")
    class BudgetScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        BUDGET_SCOPE_UNSPECIFIED: _ClassVar[BudgetConfig.BudgetScope]
        BUDGET_SCOPE_LIFETIME: _ClassVar[BudgetConfig.BudgetScope]
        BUDGET_SCOPE_FORWARD_LOOKING: _ClassVar[BudgetConfig.BudgetScope]
    BUDGET_SCOPE_UNSPECIFIED: BudgetConfig.BudgetScope
    BUDGET_SCOPE_LIFETIME: BudgetConfig.BudgetScope
    BUDGET_SCOPE_FORWARD_LOOKING: BudgetConfig.BudgetScope
    MAX_MODEL_CALLS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    MAX_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOTAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    max_model_calls: int
    max_tool_calls: int
    max_input_tokens: int
    max_output_tokens: int
    max_total_tokens: int
    scope: BudgetConfig.BudgetScope
    def __init__(self, max_model_calls: _Optional[int] = ..., max_tool_calls: _Optional[int] = ..., max_input_tokens: _Optional[int] = ..., max_output_tokens: _Optional[int] = ..., max_total_tokens: _Optional[int] = ..., scope: _Optional[_Union[BudgetConfig.BudgetScope, str]] = ...) -> None: ...

class CompactionConfig(_message.Message):
    __slots__ = ("token_threshold", "checkpoint_interval_tokens", "max_context_tokens", "summary_prompt_override", "use_model_reported_token_count")
    TOKEN_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_INTERVAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_PROMPT_OVERRIDE_FIELD_NUMBER: _ClassVar[int]
    USE_MODEL_REPORTED_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    token_threshold: int
    checkpoint_interval_tokens: int
    max_context_tokens: int
    summary_prompt_override: str
    use_model_reported_token_count: bool
    def __init__(self, token_threshold: _Optional[int] = ..., checkpoint_interval_tokens: _Optional[int] = ..., max_context_tokens: _Optional[int] = ..., summary_prompt_override: _Optional[str] = ..., use_model_reported_token_count: bool = ...) -> None: ...

class PolicyConfig(_message.Message):
    __slots__ = ("rules", "workspace_containment", "auto_config")
    class WorkspaceContainment(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        WORKSPACE_CONTAINMENT_UNSPECIFIED: _ClassVar[PolicyConfig.WorkspaceContainment]
        WORKSPACE_CONTAINMENT_ENABLED: _ClassVar[PolicyConfig.WorkspaceContainment]
        WORKSPACE_CONTAINMENT_DISABLED: _ClassVar[PolicyConfig.WorkspaceContainment]
    WORKSPACE_CONTAINMENT_UNSPECIFIED: PolicyConfig.WorkspaceContainment
    WORKSPACE_CONTAINMENT_ENABLED: PolicyConfig.WorkspaceContainment
    WORKSPACE_CONTAINMENT_DISABLED: PolicyConfig.WorkspaceContainment
    RULES_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_CONTAINMENT_FIELD_NUMBER: _ClassVar[int]
    AUTO_CONFIG_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[PolicyRule]
    workspace_containment: PolicyConfig.WorkspaceContainment
    auto_config: AutoPolicyConfig
    def __init__(self, rules: _Optional[_Iterable[_Union[PolicyRule, _Mapping]]] = ..., workspace_containment: _Optional[_Union[PolicyConfig.WorkspaceContainment, str]] = ..., auto_config: _Optional[_Union[AutoPolicyConfig, _Mapping]] = ...) -> None: ...

class AutoPolicyConfig(_message.Message):
    __slots__ = ("enabled", "model")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    model: str
    def __init__(self, enabled: bool = ..., model: _Optional[str] = ...) -> None: ...

class PolicyRule(_message.Message):
    __slots__ = ("tool", "server_name", "name", "decision", "deny_reason", "is_dynamic", "rule_id")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    DENY_REASON_FIELD_NUMBER: _ClassVar[int]
    IS_DYNAMIC_FIELD_NUMBER: _ClassVar[int]
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    tool: str
    server_name: str
    name: str
    decision: PolicyDecision
    deny_reason: str
    is_dynamic: bool
    rule_id: str
    def __init__(self, tool: _Optional[str] = ..., server_name: _Optional[str] = ..., name: _Optional[str] = ..., decision: _Optional[_Union[PolicyDecision, str]] = ..., deny_reason: _Optional[str] = ..., is_dynamic: bool = ..., rule_id: _Optional[str] = ...) -> None: ...

class InputEvent(_message.Message):
    __slots__ = ("user_input", "user_input_text", "complex_user_input", "tool_confirmation", "tool_response", "question_response", "halt_request", "automated_trigger", "call_hook_response", "session_end_request", "policy_decision_response")
    USER_INPUT_FIELD_NUMBER: _ClassVar[int]
    USER_INPUT_TEXT_FIELD_NUMBER: _ClassVar[int]
    COMPLEX_USER_INPUT_FIELD_NUMBER: _ClassVar[int]
    TOOL_CONFIRMATION_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    QUESTION_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    HALT_REQUEST_FIELD_NUMBER: _ClassVar[int]
    AUTOMATED_TRIGGER_FIELD_NUMBER: _ClassVar[int]
    CALL_HOOK_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    SESSION_END_REQUEST_FIELD_NUMBER: _ClassVar[int]
    POLICY_DECISION_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    user_input: UserInput
    user_input_text: str
    complex_user_input: UserInput
    tool_confirmation: ToolConfirmation
    tool_response: ToolResponse
    question_response: UserQuestionsResponse
    halt_request: bool
    automated_trigger: str
    call_hook_response: CallHookResponse
    session_end_request: bool
    policy_decision_response: PolicyDecisionResponse
    def __init__(self, user_input: _Optional[_Union[UserInput, _Mapping]] = ..., user_input_text: _Optional[str] = ..., complex_user_input: _Optional[_Union[UserInput, _Mapping]] = ..., tool_confirmation: _Optional[_Union[ToolConfirmation, _Mapping]] = ..., tool_response: _Optional[_Union[ToolResponse, _Mapping]] = ..., question_response: _Optional[_Union[UserQuestionsResponse, _Mapping]] = ..., halt_request: bool = ..., automated_trigger: _Optional[str] = ..., call_hook_response: _Optional[_Union[CallHookResponse, _Mapping]] = ..., session_end_request: bool = ..., policy_decision_response: _Optional[_Union[PolicyDecisionResponse, _Mapping]] = ...) -> None: ...

class UserInput(_message.Message):
    __slots__ = ("parts",)
    class Media(_message.Message):
        __slots__ = ("mime_type", "description", "data")
        MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
        DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
        DATA_FIELD_NUMBER: _ClassVar[int]
        mime_type: str
        description: str
        data: bytes
        def __init__(self, mime_type: _Optional[str] = ..., description: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...
    class SlashCommand(_message.Message):
        __slots__ = ("name",)
        NAME_FIELD_NUMBER: _ClassVar[int]
        name: str
        def __init__(self, name: _Optional[str] = ...) -> None: ...
    class Part(_message.Message):
        __slots__ = ("text", "media", "slash_command")
        TEXT_FIELD_NUMBER: _ClassVar[int]
        MEDIA_FIELD_NUMBER: _ClassVar[int]
        SLASH_COMMAND_FIELD_NUMBER: _ClassVar[int]
        text: str
        media: UserInput.Media
        slash_command: UserInput.SlashCommand
        def __init__(self, text: _Optional[str] = ..., media: _Optional[_Union[UserInput.Media, _Mapping]] = ..., slash_command: _Optional[_Union[UserInput.SlashCommand, _Mapping]] = ...) -> None: ...
    PARTS_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedCompositeFieldContainer[UserInput.Part]
    def __init__(self, parts: _Optional[_Iterable[_Union[UserInput.Part, _Mapping]]] = ...) -> None: ...

class ToolConfirmation(_message.Message):
    __slots__ = ("trajectory_id", "step_index", "accepted")
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    trajectory_id: str
    step_index: int
    accepted: bool
    def __init__(self, trajectory_id: _Optional[str] = ..., step_index: _Optional[int] = ..., accepted: bool = ...) -> None: ...

class ToolResponse(_message.Message):
    __slots__ = ("id", "response_json", "supplemental_media", "response", "error_message")
    ID_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_JSON_FIELD_NUMBER: _ClassVar[int]
    SUPPLEMENTAL_MEDIA_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    id: str
    response_json: str
    supplemental_media: _containers.RepeatedCompositeFieldContainer[Media]
    response: Struct
    error_message: str
    def __init__(self, id: _Optional[str] = ..., response_json: _Optional[str] = ..., supplemental_media: _Optional[_Iterable[_Union[Media, _Mapping]]] = ..., response: _Optional[_Union[Struct, _Mapping]] = ..., error_message: _Optional[str] = ...) -> None: ...

class UserQuestionsResponse(_message.Message):
    __slots__ = ("trajectory_id", "step_index", "cancelled", "response")
    class QuestionsResponse(_message.Message):
        __slots__ = ("answers",)
        ANSWERS_FIELD_NUMBER: _ClassVar[int]
        answers: _containers.RepeatedCompositeFieldContainer[UserQuestionAnswer]
        def __init__(self, answers: _Optional[_Iterable[_Union[UserQuestionAnswer, _Mapping]]] = ...) -> None: ...
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    trajectory_id: str
    step_index: int
    cancelled: bool
    response: UserQuestionsResponse.QuestionsResponse
    def __init__(self, trajectory_id: _Optional[str] = ..., step_index: _Optional[int] = ..., cancelled: bool = ..., response: _Optional[_Union[UserQuestionsResponse.QuestionsResponse, _Mapping]] = ...) -> None: ...

class UserQuestionAnswer(_message.Message):
    __slots__ = ("unanswered", "multiple_choice_answer")
    UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    MULTIPLE_CHOICE_ANSWER_FIELD_NUMBER: _ClassVar[int]
    unanswered: bool
    multiple_choice_answer: MultipleChoiceAnswer
    def __init__(self, unanswered: bool = ..., multiple_choice_answer: _Optional[_Union[MultipleChoiceAnswer, _Mapping]] = ...) -> None: ...

class MultipleChoiceAnswer(_message.Message):
    __slots__ = ("selected_choice_indices", "freeform_response")
    SELECTED_CHOICE_INDICES_FIELD_NUMBER: _ClassVar[int]
    FREEFORM_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    selected_choice_indices: _containers.RepeatedScalarFieldContainer[int]
    freeform_response: str
    def __init__(self, selected_choice_indices: _Optional[_Iterable[int]] = ..., freeform_response: _Optional[str] = ...) -> None: ...

class CallHookResponse(_message.Message):
    __slots__ = ("request_id", "pre_turn_result", "pre_tool_result", "empty_result", "error_message", "on_tool_error_result", "stop_result")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    PRE_TURN_RESULT_FIELD_NUMBER: _ClassVar[int]
    PRE_TOOL_RESULT_FIELD_NUMBER: _ClassVar[int]
    EMPTY_RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ON_TOOL_ERROR_RESULT_FIELD_NUMBER: _ClassVar[int]
    STOP_RESULT_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    pre_turn_result: PreTurnResult
    pre_tool_result: PreToolResult
    empty_result: EmptyResult
    error_message: str
    on_tool_error_result: OnToolErrorResult
    stop_result: StopResult
    def __init__(self, request_id: _Optional[str] = ..., pre_turn_result: _Optional[_Union[PreTurnResult, _Mapping]] = ..., pre_tool_result: _Optional[_Union[PreToolResult, _Mapping]] = ..., empty_result: _Optional[_Union[EmptyResult, _Mapping]] = ..., error_message: _Optional[str] = ..., on_tool_error_result: _Optional[_Union[OnToolErrorResult, _Mapping]] = ..., stop_result: _Optional[_Union[StopResult, _Mapping]] = ...) -> None: ...

class PreTurnResult(_message.Message):
    __slots__ = ("decision", "reason")
    class Decision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DECISION_UNSPECIFIED: _ClassVar[PreTurnResult.Decision]
        ALLOW: _ClassVar[PreTurnResult.Decision]
        DENY: _ClassVar[PreTurnResult.Decision]
    DECISION_UNSPECIFIED: PreTurnResult.Decision
    ALLOW: PreTurnResult.Decision
    DENY: PreTurnResult.Decision
    DECISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    decision: PreTurnResult.Decision
    reason: str
    def __init__(self, decision: _Optional[_Union[PreTurnResult.Decision, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class PreToolResult(_message.Message):
    __slots__ = ("decision", "reason", "modified_arguments_json", "modified_args")
    class Decision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DECISION_UNSPECIFIED: _ClassVar[PreToolResult.Decision]
        ALLOW: _ClassVar[PreToolResult.Decision]
        DENY: _ClassVar[PreToolResult.Decision]
    DECISION_UNSPECIFIED: PreToolResult.Decision
    ALLOW: PreToolResult.Decision
    DENY: PreToolResult.Decision
    DECISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MODIFIED_ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    MODIFIED_ARGS_FIELD_NUMBER: _ClassVar[int]
    decision: PreToolResult.Decision
    reason: str
    modified_arguments_json: str
    modified_args: Struct
    def __init__(self, decision: _Optional[_Union[PreToolResult.Decision, str]] = ..., reason: _Optional[str] = ..., modified_arguments_json: _Optional[str] = ..., modified_args: _Optional[_Union[Struct, _Mapping]] = ...) -> None: ...

class EmptyResult(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class OnToolErrorResult(_message.Message):
    __slots__ = ("custom_error_message",)
    CUSTOM_ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    custom_error_message: str
    def __init__(self, custom_error_message: _Optional[str] = ...) -> None: ...

class StopResult(_message.Message):
    __slots__ = ("decision", "reason")
    class Decision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DECISION_UNSPECIFIED: _ClassVar[StopResult.Decision]
        ALLOW_STOP: _ClassVar[StopResult.Decision]
        CONTINUE: _ClassVar[StopResult.Decision]
    DECISION_UNSPECIFIED: StopResult.Decision
    ALLOW_STOP: StopResult.Decision
    CONTINUE: StopResult.Decision
    DECISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    decision: StopResult.Decision
    reason: str
    def __init__(self, decision: _Optional[_Union[StopResult.Decision, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class PolicyDecisionResponse(_message.Message):
    __slots__ = ("request_id", "outcome", "deny_reason")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    DENY_REASON_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    outcome: PolicyEvaluationOutcome
    deny_reason: str
    def __init__(self, request_id: _Optional[str] = ..., outcome: _Optional[_Union[PolicyEvaluationOutcome, str]] = ..., deny_reason: _Optional[str] = ...) -> None: ...

class OutputEvent(_message.Message):
    __slots__ = ("seq_num", "timestamp_micros", "step_update", "trajectory_state_update", "tool_call", "initialize_conversation_response", "call_hook_request", "session_end_response", "policy_decision_request", "usage_update", "usage_metadata")
    SEQ_NUM_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_MICROS_FIELD_NUMBER: _ClassVar[int]
    STEP_UPDATE_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_STATE_UPDATE_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    INITIALIZE_CONVERSATION_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    CALL_HOOK_REQUEST_FIELD_NUMBER: _ClassVar[int]
    SESSION_END_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    POLICY_DECISION_REQUEST_FIELD_NUMBER: _ClassVar[int]
    USAGE_UPDATE_FIELD_NUMBER: _ClassVar[int]
    USAGE_METADATA_FIELD_NUMBER: _ClassVar[int]
    seq_num: int
    timestamp_micros: int
    step_update: StepUpdate
    trajectory_state_update: TrajectoryStateUpdate
    tool_call: ToolCall
    initialize_conversation_response: InitializeConversationResponse
    call_hook_request: CallHookRequest
    session_end_response: bool
    policy_decision_request: PolicyDecisionRequest
    usage_update: UsageUpdate
    usage_metadata: UsageMetadata
    def __init__(self, seq_num: _Optional[int] = ..., timestamp_micros: _Optional[int] = ..., step_update: _Optional[_Union[StepUpdate, _Mapping]] = ..., trajectory_state_update: _Optional[_Union[TrajectoryStateUpdate, _Mapping]] = ..., tool_call: _Optional[_Union[ToolCall, _Mapping]] = ..., initialize_conversation_response: _Optional[_Union[InitializeConversationResponse, _Mapping]] = ..., call_hook_request: _Optional[_Union[CallHookRequest, _Mapping]] = ..., session_end_response: bool = ..., policy_decision_request: _Optional[_Union[PolicyDecisionRequest, _Mapping]] = ..., usage_update: _Optional[_Union[UsageUpdate, _Mapping]] = ..., usage_metadata: _Optional[_Union[UsageMetadata, _Mapping]] = ...) -> None: ...

class InitializeConversationResponse(_message.Message):
    __slots__ = ("cascade_id", "history", "cumulative_usage", "trajectory_usage", "sandbox_status")
    CASCADE_ID_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    CUMULATIVE_USAGE_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_USAGE_FIELD_NUMBER: _ClassVar[int]
    SANDBOX_STATUS_FIELD_NUMBER: _ClassVar[int]
    cascade_id: str
    history: _containers.RepeatedCompositeFieldContainer[StepUpdate]
    cumulative_usage: UsageMetadata
    trajectory_usage: _containers.RepeatedCompositeFieldContainer[TrajectoryUsageEntry]
    sandbox_status: SandboxStatus
    def __init__(self, cascade_id: _Optional[str] = ..., history: _Optional[_Iterable[_Union[StepUpdate, _Mapping]]] = ..., cumulative_usage: _Optional[_Union[UsageMetadata, _Mapping]] = ..., trajectory_usage: _Optional[_Iterable[_Union[TrajectoryUsageEntry, _Mapping]]] = ..., sandbox_status: _Optional[_Union[SandboxStatus, _Mapping]] = ...) -> None: ...

class SandboxStatus(_message.Message):
    __slots__ = ("available", "unavailable_reason")
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_REASON_FIELD_NUMBER: _ClassVar[int]
    available: bool
    unavailable_reason: str
    def __init__(self, available: bool = ..., unavailable_reason: _Optional[str] = ...) -> None: ...

class TrajectoryStateUpdate(_message.Message):
    __slots__ = ("trajectory_id", "state", "error", "stop_reason", "parent_trajectory_id", "depth", "error_code")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[TrajectoryStateUpdate.State]
        STATE_RUNNING: _ClassVar[TrajectoryStateUpdate.State]
        STATE_FULLY_IDLE: _ClassVar[TrajectoryStateUpdate.State]
        STATE_IDLE: _ClassVar[TrajectoryStateUpdate.State]
        STATE_CANCELLED: _ClassVar[TrajectoryStateUpdate.State]
        STATE_WAITING_FOR_TASKS: _ClassVar[TrajectoryStateUpdate.State]
        STATE_WAITING_FOR_SUBAGENTS: _ClassVar[TrajectoryStateUpdate.State]
    STATE_UNSPECIFIED: TrajectoryStateUpdate.State
    STATE_RUNNING: TrajectoryStateUpdate.State
    STATE_FULLY_IDLE: TrajectoryStateUpdate.State
    STATE_IDLE: TrajectoryStateUpdate.State
    STATE_CANCELLED: TrajectoryStateUpdate.State
    STATE_WAITING_FOR_TASKS: TrajectoryStateUpdate.State
    STATE_WAITING_FOR_SUBAGENTS: TrajectoryStateUpdate.State
    class StopReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STOP_REASON_UNSPECIFIED: _ClassVar[TrajectoryStateUpdate.StopReason]
        STOP_REASON_MAX_MODEL_CALLS_EXCEEDED: _ClassVar[TrajectoryStateUpdate.StopReason]
        STOP_REASON_MAX_TOOL_CALLS_EXCEEDED: _ClassVar[TrajectoryStateUpdate.StopReason]
        STOP_REASON_MAX_INPUT_TOKENS_EXCEEDED: _ClassVar[TrajectoryStateUpdate.StopReason]
        STOP_REASON_MAX_OUTPUT_TOKENS_EXCEEDED: _ClassVar[TrajectoryStateUpdate.StopReason]
        STOP_REASON_MAX_TOTAL_TOKENS_EXCEEDED: _ClassVar[TrajectoryStateUpdate.StopReason]
        STOP_REASON_QUOTA_EXHAUSTED: _ClassVar[TrajectoryStateUpdate.StopReason]
    STOP_REASON_UNSPECIFIED: TrajectoryStateUpdate.StopReason
    STOP_REASON_MAX_MODEL_CALLS_EXCEEDED: TrajectoryStateUpdate.StopReason
    STOP_REASON_MAX_TOOL_CALLS_EXCEEDED: TrajectoryStateUpdate.StopReason
    STOP_REASON_MAX_INPUT_TOKENS_EXCEEDED: TrajectoryStateUpdate.StopReason
    STOP_REASON_MAX_OUTPUT_TOKENS_EXCEEDED: TrajectoryStateUpdate.StopReason
    STOP_REASON_MAX_TOTAL_TOKENS_EXCEEDED: TrajectoryStateUpdate.StopReason
    STOP_REASON_QUOTA_EXHAUSTED: TrajectoryStateUpdate.StopReason
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    STOP_REASON_FIELD_NUMBER: _ClassVar[int]
    PARENT_TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    trajectory_id: str
    state: TrajectoryStateUpdate.State
    error: str
    stop_reason: TrajectoryStateUpdate.StopReason
    parent_trajectory_id: str
    depth: int
    error_code: str
    def __init__(self, trajectory_id: _Optional[str] = ..., state: _Optional[_Union[TrajectoryStateUpdate.State, str]] = ..., error: _Optional[str] = ..., stop_reason: _Optional[_Union[TrajectoryStateUpdate.StopReason, str]] = ..., parent_trajectory_id: _Optional[str] = ..., depth: _Optional[int] = ..., error_code: _Optional[str] = ...) -> None: ...

class UsageUpdate(_message.Message):
    __slots__ = ("agents", "total")
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    agents: _containers.RepeatedCompositeFieldContainer[TrajectoryUsageEntry]
    total: UsageMetadata
    def __init__(self, agents: _Optional[_Iterable[_Union[TrajectoryUsageEntry, _Mapping]]] = ..., total: _Optional[_Union[UsageMetadata, _Mapping]] = ...) -> None: ...

class TrajectoryUsageEntry(_message.Message):
    __slots__ = ("trajectory_id", "usage")
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    trajectory_id: str
    usage: UsageMetadata
    def __init__(self, trajectory_id: _Optional[str] = ..., usage: _Optional[_Union[UsageMetadata, _Mapping]] = ...) -> None: ...

class UsageMetadata(_message.Message):
    __slots__ = ("prompt_token_count", "candidates_token_count", "total_token_count", "thoughts_token_count", "cached_content_token_count", "service_tier", "prompt_tokens_details", "cache_tokens_details", "candidates_tokens_details", "tool_use_prompt_tokens_details")
    PROMPT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    THOUGHTS_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    CACHED_CONTENT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    SERVICE_TIER_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_DETAILS_FIELD_NUMBER: _ClassVar[int]
    CACHE_TOKENS_DETAILS_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_TOKENS_DETAILS_FIELD_NUMBER: _ClassVar[int]
    TOOL_USE_PROMPT_TOKENS_DETAILS_FIELD_NUMBER: _ClassVar[int]
    prompt_token_count: int
    candidates_token_count: int
    total_token_count: int
    thoughts_token_count: int
    cached_content_token_count: int
    service_tier: str
    prompt_tokens_details: _containers.RepeatedCompositeFieldContainer[ModalityTokenCount]
    cache_tokens_details: _containers.RepeatedCompositeFieldContainer[ModalityTokenCount]
    candidates_tokens_details: _containers.RepeatedCompositeFieldContainer[ModalityTokenCount]
    tool_use_prompt_tokens_details: _containers.RepeatedCompositeFieldContainer[ModalityTokenCount]
    def __init__(self, prompt_token_count: _Optional[int] = ..., candidates_token_count: _Optional[int] = ..., total_token_count: _Optional[int] = ..., thoughts_token_count: _Optional[int] = ..., cached_content_token_count: _Optional[int] = ..., service_tier: _Optional[str] = ..., prompt_tokens_details: _Optional[_Iterable[_Union[ModalityTokenCount, _Mapping]]] = ..., cache_tokens_details: _Optional[_Iterable[_Union[ModalityTokenCount, _Mapping]]] = ..., candidates_tokens_details: _Optional[_Iterable[_Union[ModalityTokenCount, _Mapping]]] = ..., tool_use_prompt_tokens_details: _Optional[_Iterable[_Union[ModalityTokenCount, _Mapping]]] = ...) -> None: ...

class ModalityTokenCount(_message.Message):
    __slots__ = ("modality", "token_count")
    MODALITY_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    modality: Modality
    token_count: int
    def __init__(self, modality: _Optional[_Union[Modality, str]] = ..., token_count: _Optional[int] = ...) -> None: ...

class StepUpdate(_message.Message):
    __slots__ = ("cascade_id", "trajectory_id", "parent_trajectory_id", "step_index", "state", "source", "target", "error_message", "thinking", "text_delta", "thinking_delta", "text", "list_directory", "find_file", "search_directory", "view_file", "create_file", "edit_file", "run_command", "compaction", "invoke_subagent", "generate_image", "finish", "error", "mcp_tool", "search_web", "read_url_content", "custom_tool", "skill_lookup", "run_workflow", "request_text", "tool_confirmation_request", "questions_request")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[StepUpdate.State]
        STATE_ACTIVE: _ClassVar[StepUpdate.State]
        STATE_DONE: _ClassVar[StepUpdate.State]
        STATE_WAITING_FOR_USER: _ClassVar[StepUpdate.State]
        STATE_ERROR: _ClassVar[StepUpdate.State]
    STATE_UNSPECIFIED: StepUpdate.State
    STATE_ACTIVE: StepUpdate.State
    STATE_DONE: StepUpdate.State
    STATE_WAITING_FOR_USER: StepUpdate.State
    STATE_ERROR: StepUpdate.State
    class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SOURCE_UNSPECIFIED: _ClassVar[StepUpdate.Source]
        SOURCE_SYSTEM: _ClassVar[StepUpdate.Source]
        SOURCE_USER: _ClassVar[StepUpdate.Source]
        SOURCE_MODEL: _ClassVar[StepUpdate.Source]
    SOURCE_UNSPECIFIED: StepUpdate.Source
    SOURCE_SYSTEM: StepUpdate.Source
    SOURCE_USER: StepUpdate.Source
    SOURCE_MODEL: StepUpdate.Source
    class Target(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        TARGET_UNSPECIFIED: _ClassVar[StepUpdate.Target]
        TARGET_USER: _ClassVar[StepUpdate.Target]
        TARGET_MODEL: _ClassVar[StepUpdate.Target]
        TARGET_ENVIRONMENT: _ClassVar[StepUpdate.Target]
    TARGET_UNSPECIFIED: StepUpdate.Target
    TARGET_USER: StepUpdate.Target
    TARGET_MODEL: StepUpdate.Target
    TARGET_ENVIRONMENT: StepUpdate.Target
    CASCADE_ID_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    PARENT_TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    THINKING_FIELD_NUMBER: _ClassVar[int]
    TEXT_DELTA_FIELD_NUMBER: _ClassVar[int]
    THINKING_DELTA_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LIST_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    FIND_FILE_FIELD_NUMBER: _ClassVar[int]
    SEARCH_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    VIEW_FILE_FIELD_NUMBER: _ClassVar[int]
    CREATE_FILE_FIELD_NUMBER: _ClassVar[int]
    EDIT_FILE_FIELD_NUMBER: _ClassVar[int]
    RUN_COMMAND_FIELD_NUMBER: _ClassVar[int]
    COMPACTION_FIELD_NUMBER: _ClassVar[int]
    INVOKE_SUBAGENT_FIELD_NUMBER: _ClassVar[int]
    GENERATE_IMAGE_FIELD_NUMBER: _ClassVar[int]
    FINISH_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MCP_TOOL_FIELD_NUMBER: _ClassVar[int]
    SEARCH_WEB_FIELD_NUMBER: _ClassVar[int]
    READ_URL_CONTENT_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_TOOL_FIELD_NUMBER: _ClassVar[int]
    SKILL_LOOKUP_FIELD_NUMBER: _ClassVar[int]
    RUN_WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    REQUEST_TEXT_FIELD_NUMBER: _ClassVar[int]
    TOOL_CONFIRMATION_REQUEST_FIELD_NUMBER: _ClassVar[int]
    QUESTIONS_REQUEST_FIELD_NUMBER: _ClassVar[int]
    cascade_id: str
    trajectory_id: str
    parent_trajectory_id: str
    step_index: int
    state: StepUpdate.State
    source: StepUpdate.Source
    target: StepUpdate.Target
    error_message: str
    thinking: str
    text_delta: str
    thinking_delta: str
    text: str
    list_directory: ActionListDirectory
    find_file: ActionFindFile
    search_directory: ActionSearchDirectory
    view_file: ActionViewFile
    create_file: ActionCreateFile
    edit_file: ActionEditFile
    run_command: ActionRunCommand
    compaction: ActionCompaction
    invoke_subagent: ActionInvokeSubagent
    generate_image: ActionGenerateImage
    finish: ActionFinish
    error: ActionError
    mcp_tool: ActionMcpTool
    search_web: ActionSearchWeb
    read_url_content: ActionReadUrlContent
    custom_tool: ActionCustomTool
    skill_lookup: ActionSkillLookup
    run_workflow: ActionRunWorkflow
    request_text: str
    tool_confirmation_request: ToolConfirmationRequest
    questions_request: UserQuestionsRequest
    def __init__(self, cascade_id: _Optional[str] = ..., trajectory_id: _Optional[str] = ..., parent_trajectory_id: _Optional[str] = ..., step_index: _Optional[int] = ..., state: _Optional[_Union[StepUpdate.State, str]] = ..., source: _Optional[_Union[StepUpdate.Source, str]] = ..., target: _Optional[_Union[StepUpdate.Target, str]] = ..., error_message: _Optional[str] = ..., thinking: _Optional[str] = ..., text_delta: _Optional[str] = ..., thinking_delta: _Optional[str] = ..., text: _Optional[str] = ..., list_directory: _Optional[_Union[ActionListDirectory, _Mapping]] = ..., find_file: _Optional[_Union[ActionFindFile, _Mapping]] = ..., search_directory: _Optional[_Union[ActionSearchDirectory, _Mapping]] = ..., view_file: _Optional[_Union[ActionViewFile, _Mapping]] = ..., create_file: _Optional[_Union[ActionCreateFile, _Mapping]] = ..., edit_file: _Optional[_Union[ActionEditFile, _Mapping]] = ..., run_command: _Optional[_Union[ActionRunCommand, _Mapping]] = ..., compaction: _Optional[_Union[ActionCompaction, _Mapping]] = ..., invoke_subagent: _Optional[_Union[ActionInvokeSubagent, _Mapping]] = ..., generate_image: _Optional[_Union[ActionGenerateImage, _Mapping]] = ..., finish: _Optional[_Union[ActionFinish, _Mapping]] = ..., error: _Optional[_Union[ActionError, _Mapping]] = ..., mcp_tool: _Optional[_Union[ActionMcpTool, _Mapping]] = ..., search_web: _Optional[_Union[ActionSearchWeb, _Mapping]] = ..., read_url_content: _Optional[_Union[ActionReadUrlContent, _Mapping]] = ..., custom_tool: _Optional[_Union[ActionCustomTool, _Mapping]] = ..., skill_lookup: _Optional[_Union[ActionSkillLookup, _Mapping]] = ..., run_workflow: _Optional[_Union[ActionRunWorkflow, _Mapping]] = ..., request_text: _Optional[str] = ..., tool_confirmation_request: _Optional[_Union[ToolConfirmationRequest, _Mapping]] = ..., questions_request: _Optional[_Union[UserQuestionsRequest, _Mapping]] = ...) -> None: ...

class ActionListDirectory(_message.Message):
    __slots__ = ("directory_path", "results")
    class Result(_message.Message):
        __slots__ = ("name", "is_directory", "file_size")
        NAME_FIELD_NUMBER: _ClassVar[int]
        IS_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
        FILE_SIZE_FIELD_NUMBER: _ClassVar[int]
        name: str
        is_directory: bool
        file_size: int
        def __init__(self, name: _Optional[str] = ..., is_directory: bool = ..., file_size: _Optional[int] = ...) -> None: ...
    DIRECTORY_PATH_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    directory_path: str
    results: _containers.RepeatedCompositeFieldContainer[ActionListDirectory.Result]
    def __init__(self, directory_path: _Optional[str] = ..., results: _Optional[_Iterable[_Union[ActionListDirectory.Result, _Mapping]]] = ...) -> None: ...

class ActionFindFile(_message.Message):
    __slots__ = ("directory_path", "query", "output")
    DIRECTORY_PATH_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    directory_path: str
    query: str
    output: str
    def __init__(self, directory_path: _Optional[str] = ..., query: _Optional[str] = ..., output: _Optional[str] = ...) -> None: ...

class ActionSearchDirectory(_message.Message):
    __slots__ = ("directory_path", "query", "num_results")
    DIRECTORY_PATH_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    NUM_RESULTS_FIELD_NUMBER: _ClassVar[int]
    directory_path: str
    query: str
    num_results: int
    def __init__(self, directory_path: _Optional[str] = ..., query: _Optional[str] = ..., num_results: _Optional[int] = ...) -> None: ...

class ActionViewFile(_message.Message):
    __slots__ = ("file_path", "start_line", "end_line", "content_offset")
    FILE_PATH_FIELD_NUMBER: _ClassVar[int]
    START_LINE_FIELD_NUMBER: _ClassVar[int]
    END_LINE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    file_path: str
    start_line: int
    end_line: int
    content_offset: int
    def __init__(self, file_path: _Optional[str] = ..., start_line: _Optional[int] = ..., end_line: _Optional[int] = ..., content_offset: _Optional[int] = ...) -> None: ...

class ActionCreateFile(_message.Message):
    __slots__ = ("file_path", "contents")
    FILE_PATH_FIELD_NUMBER: _ClassVar[int]
    CONTENTS_FIELD_NUMBER: _ClassVar[int]
    file_path: str
    contents: str
    def __init__(self, file_path: _Optional[str] = ..., contents: _Optional[str] = ...) -> None: ...

class ActionEditFile(_message.Message):
    __slots__ = ("file_path", "diff_block")
    class DiffLine(_message.Message):
        __slots__ = ("text", "action")
        class LineAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
            __slots__ = ()
            LINE_ACTION_UNSPECIFIED: _ClassVar[ActionEditFile.DiffLine.LineAction]
            LINE_ACTION_INSERT: _ClassVar[ActionEditFile.DiffLine.LineAction]
            LINE_ACTION_DELETE: _ClassVar[ActionEditFile.DiffLine.LineAction]
            LINE_ACTION_NONE: _ClassVar[ActionEditFile.DiffLine.LineAction]
        LINE_ACTION_UNSPECIFIED: ActionEditFile.DiffLine.LineAction
        LINE_ACTION_INSERT: ActionEditFile.DiffLine.LineAction
        LINE_ACTION_DELETE: ActionEditFile.DiffLine.LineAction
        LINE_ACTION_NONE: ActionEditFile.DiffLine.LineAction
        TEXT_FIELD_NUMBER: _ClassVar[int]
        ACTION_FIELD_NUMBER: _ClassVar[int]
        text: str
        action: ActionEditFile.DiffLine.LineAction
        def __init__(self, text: _Optional[str] = ..., action: _Optional[_Union[ActionEditFile.DiffLine.LineAction, str]] = ...) -> None: ...
    class DiffBlock(_message.Message):
        __slots__ = ("start_line", "end_line", "lines")
        START_LINE_FIELD_NUMBER: _ClassVar[int]
        END_LINE_FIELD_NUMBER: _ClassVar[int]
        LINES_FIELD_NUMBER: _ClassVar[int]
        start_line: int
        end_line: int
        lines: _containers.RepeatedCompositeFieldContainer[ActionEditFile.DiffLine]
        def __init__(self, start_line: _Optional[int] = ..., end_line: _Optional[int] = ..., lines: _Optional[_Iterable[_Union[ActionEditFile.DiffLine, _Mapping]]] = ...) -> None: ...
    FILE_PATH_FIELD_NUMBER: _ClassVar[int]
    DIFF_BLOCK_FIELD_NUMBER: _ClassVar[int]
    file_path: str
    diff_block: _containers.RepeatedCompositeFieldContainer[ActionEditFile.DiffBlock]
    def __init__(self, file_path: _Optional[str] = ..., diff_block: _Optional[_Iterable[_Union[ActionEditFile.DiffBlock, _Mapping]]] = ...) -> None: ...

class ActionRunCommand(_message.Message):
    __slots__ = ("command_line", "working_dir", "exit_code", "combined_output")
    COMMAND_LINE_FIELD_NUMBER: _ClassVar[int]
    WORKING_DIR_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    COMBINED_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    command_line: str
    working_dir: str
    exit_code: int
    combined_output: str
    def __init__(self, command_line: _Optional[str] = ..., working_dir: _Optional[str] = ..., exit_code: _Optional[int] = ..., combined_output: _Optional[str] = ...) -> None: ...

class ActionCompaction(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ActionInvokeSubagent(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ActionGenerateImage(_message.Message):
    __slots__ = ("prompt", "image_paths", "image_name", "aspect_ratio", "output_path")
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    IMAGE_PATHS_FIELD_NUMBER: _ClassVar[int]
    IMAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    ASPECT_RATIO_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_PATH_FIELD_NUMBER: _ClassVar[int]
    prompt: str
    image_paths: _containers.RepeatedScalarFieldContainer[str]
    image_name: str
    aspect_ratio: str
    output_path: str
    def __init__(self, prompt: _Optional[str] = ..., image_paths: _Optional[_Iterable[str]] = ..., image_name: _Optional[str] = ..., aspect_ratio: _Optional[str] = ..., output_path: _Optional[str] = ...) -> None: ...

class ActionFinish(_message.Message):
    __slots__ = ("output_string",)
    OUTPUT_STRING_FIELD_NUMBER: _ClassVar[int]
    output_string: str
    def __init__(self, output_string: _Optional[str] = ...) -> None: ...

class ActionError(_message.Message):
    __slots__ = ("error_message", "http_code")
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HTTP_CODE_FIELD_NUMBER: _ClassVar[int]
    error_message: str
    http_code: int
    def __init__(self, error_message: _Optional[str] = ..., http_code: _Optional[int] = ...) -> None: ...

class ActionMcpTool(_message.Message):
    __slots__ = ("server_name", "tool_name", "arguments_json")
    SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    server_name: str
    tool_name: str
    arguments_json: str
    def __init__(self, server_name: _Optional[str] = ..., tool_name: _Optional[str] = ..., arguments_json: _Optional[str] = ...) -> None: ...

class ActionSearchWeb(_message.Message):
    __slots__ = ("query", "domain", "summary")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    query: str
    domain: str
    summary: str
    def __init__(self, query: _Optional[str] = ..., domain: _Optional[str] = ..., summary: _Optional[str] = ...) -> None: ...

class ActionReadUrlContent(_message.Message):
    __slots__ = ("url", "title", "summary", "content_path")
    URL_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_PATH_FIELD_NUMBER: _ClassVar[int]
    url: str
    title: str
    summary: str
    content_path: str
    def __init__(self, url: _Optional[str] = ..., title: _Optional[str] = ..., summary: _Optional[str] = ..., content_path: _Optional[str] = ...) -> None: ...

class ActionCustomTool(_message.Message):
    __slots__ = ("tool_call", "tool_response")
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    tool_call: ToolCall
    tool_response: ToolResponse
    def __init__(self, tool_call: _Optional[_Union[ToolCall, _Mapping]] = ..., tool_response: _Optional[_Union[ToolResponse, _Mapping]] = ...) -> None: ...

class ActionSkillLookup(_message.Message):
    __slots__ = ("operation", "requested_skill_names", "resolved_skill_names", "error_message")
    class Operation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        OPERATION_UNSPECIFIED: _ClassVar[ActionSkillLookup.Operation]
        OPERATION_LIST_SKILLS: _ClassVar[ActionSkillLookup.Operation]
        OPERATION_LOOKUP_SKILLS: _ClassVar[ActionSkillLookup.Operation]
        OPERATION_GET_SKILL_RESOURCES: _ClassVar[ActionSkillLookup.Operation]
    OPERATION_UNSPECIFIED: ActionSkillLookup.Operation
    OPERATION_LIST_SKILLS: ActionSkillLookup.Operation
    OPERATION_LOOKUP_SKILLS: ActionSkillLookup.Operation
    OPERATION_GET_SKILL_RESOURCES: ActionSkillLookup.Operation
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_SKILL_NAMES_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_SKILL_NAMES_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    operation: ActionSkillLookup.Operation
    requested_skill_names: _containers.RepeatedScalarFieldContainer[str]
    resolved_skill_names: _containers.RepeatedScalarFieldContainer[str]
    error_message: str
    def __init__(self, operation: _Optional[_Union[ActionSkillLookup.Operation, str]] = ..., requested_skill_names: _Optional[_Iterable[str]] = ..., resolved_skill_names: _Optional[_Iterable[str]] = ..., error_message: _Optional[str] = ...) -> None: ...

class ActionRunWorkflow(_message.Message):
    __slots__ = ("script_path", "description", "output", "script")
    SCRIPT_PATH_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    script_path: str
    description: str
    output: str
    script: str
    def __init__(self, script_path: _Optional[str] = ..., description: _Optional[str] = ..., output: _Optional[str] = ..., script: _Optional[str] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("id", "name", "arguments_json", "arguments", "trajectory_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    arguments_json: str
    arguments: Struct
    trajectory_id: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments_json: _Optional[str] = ..., arguments: _Optional[_Union[Struct, _Mapping]] = ..., trajectory_id: _Optional[str] = ...) -> None: ...

class ToolConfirmationRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class UserQuestionsRequest(_message.Message):
    __slots__ = ("questions",)
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    questions: _containers.RepeatedCompositeFieldContainer[UserQuestion]
    def __init__(self, questions: _Optional[_Iterable[_Union[UserQuestion, _Mapping]]] = ...) -> None: ...

class UserQuestion(_message.Message):
    __slots__ = ("multiple_choice",)
    MULTIPLE_CHOICE_FIELD_NUMBER: _ClassVar[int]
    multiple_choice: MultipleChoice
    def __init__(self, multiple_choice: _Optional[_Union[MultipleChoice, _Mapping]] = ...) -> None: ...

class MultipleChoice(_message.Message):
    __slots__ = ("question", "choices", "is_multi_select")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    IS_MULTI_SELECT_FIELD_NUMBER: _ClassVar[int]
    question: str
    choices: _containers.RepeatedScalarFieldContainer[str]
    is_multi_select: bool
    def __init__(self, question: _Optional[str] = ..., choices: _Optional[_Iterable[str]] = ..., is_multi_select: bool = ...) -> None: ...

class CallHookRequest(_message.Message):
    __slots__ = ("request_id", "name", "type", "client_id", "pre_turn_args", "post_turn_args", "pre_tool_args", "post_tool_args", "on_tool_error_args", "on_compaction_args", "stop_args")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    PRE_TURN_ARGS_FIELD_NUMBER: _ClassVar[int]
    POST_TURN_ARGS_FIELD_NUMBER: _ClassVar[int]
    PRE_TOOL_ARGS_FIELD_NUMBER: _ClassVar[int]
    POST_TOOL_ARGS_FIELD_NUMBER: _ClassVar[int]
    ON_TOOL_ERROR_ARGS_FIELD_NUMBER: _ClassVar[int]
    ON_COMPACTION_ARGS_FIELD_NUMBER: _ClassVar[int]
    STOP_ARGS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    name: str
    type: LifecycleHook
    client_id: str
    pre_turn_args: PreTurnArgs
    post_turn_args: PostTurnArgs
    pre_tool_args: PreToolArgs
    post_tool_args: PostToolArgs
    on_tool_error_args: OnToolErrorArgs
    on_compaction_args: OnCompactionArgs
    stop_args: StopArgs
    def __init__(self, request_id: _Optional[str] = ..., name: _Optional[str] = ..., type: _Optional[_Union[LifecycleHook, str]] = ..., client_id: _Optional[str] = ..., pre_turn_args: _Optional[_Union[PreTurnArgs, _Mapping]] = ..., post_turn_args: _Optional[_Union[PostTurnArgs, _Mapping]] = ..., pre_tool_args: _Optional[_Union[PreToolArgs, _Mapping]] = ..., post_tool_args: _Optional[_Union[PostToolArgs, _Mapping]] = ..., on_tool_error_args: _Optional[_Union[OnToolErrorArgs, _Mapping]] = ..., on_compaction_args: _Optional[_Union[OnCompactionArgs, _Mapping]] = ..., stop_args: _Optional[_Union[StopArgs, _Mapping]] = ...) -> None: ...

class PreTurnArgs(_message.Message):
    __slots__ = ("user_input", "trajectory_id")
    USER_INPUT_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    user_input: UserInput
    trajectory_id: str
    def __init__(self, user_input: _Optional[_Union[UserInput, _Mapping]] = ..., trajectory_id: _Optional[str] = ...) -> None: ...

class PostTurnArgs(_message.Message):
    __slots__ = ("response_text", "trajectory_id")
    RESPONSE_TEXT_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    response_text: str
    trajectory_id: str
    def __init__(self, response_text: _Optional[str] = ..., trajectory_id: _Optional[str] = ...) -> None: ...

class PreToolArgs(_message.Message):
    __slots__ = ("tool_name", "arguments_json", "server_name", "call_id", "trajectory_id", "step_index")
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    tool_name: str
    arguments_json: str
    server_name: str
    call_id: str
    trajectory_id: str
    step_index: int
    def __init__(self, tool_name: _Optional[str] = ..., arguments_json: _Optional[str] = ..., server_name: _Optional[str] = ..., call_id: _Optional[str] = ..., trajectory_id: _Optional[str] = ..., step_index: _Optional[int] = ...) -> None: ...

class PostToolArgs(_message.Message):
    __slots__ = ("tool_name", "result", "error", "server_name", "call_id", "trajectory_id", "step_index")
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    tool_name: str
    result: str
    error: str
    server_name: str
    call_id: str
    trajectory_id: str
    step_index: int
    def __init__(self, tool_name: _Optional[str] = ..., result: _Optional[str] = ..., error: _Optional[str] = ..., server_name: _Optional[str] = ..., call_id: _Optional[str] = ..., trajectory_id: _Optional[str] = ..., step_index: _Optional[int] = ...) -> None: ...

class OnToolErrorArgs(_message.Message):
    __slots__ = ("tool_name", "error_message", "server_name", "call_id", "trajectory_id", "step_index")
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    tool_name: str
    error_message: str
    server_name: str
    call_id: str
    trajectory_id: str
    step_index: int
    def __init__(self, tool_name: _Optional[str] = ..., error_message: _Optional[str] = ..., server_name: _Optional[str] = ..., call_id: _Optional[str] = ..., trajectory_id: _Optional[str] = ..., step_index: _Optional[int] = ...) -> None: ...

class OnCompactionArgs(_message.Message):
    __slots__ = ("trajectory_id", "step_index", "summary")
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    trajectory_id: str
    step_index: int
    summary: str
    def __init__(self, trajectory_id: _Optional[str] = ..., step_index: _Optional[int] = ..., summary: _Optional[str] = ...) -> None: ...

class StopArgs(_message.Message):
    __slots__ = ("response_text", "trajectory_id", "continuation_count", "stop_reason", "error_message")
    RESPONSE_TEXT_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_ID_FIELD_NUMBER: _ClassVar[int]
    CONTINUATION_COUNT_FIELD_NUMBER: _ClassVar[int]
    STOP_REASON_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    response_text: str
    trajectory_id: str
    continuation_count: int
    stop_reason: TrajectoryStateUpdate.StopReason
    error_message: str
    def __init__(self, response_text: _Optional[str] = ..., trajectory_id: _Optional[str] = ..., continuation_count: _Optional[int] = ..., stop_reason: _Optional[_Union[TrajectoryStateUpdate.StopReason, str]] = ..., error_message: _Optional[str] = ...) -> None: ...

class PolicyDecisionRequest(_message.Message):
    __slots__ = ("request_id", "rule_id", "tool_args", "reason")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_ARGS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    rule_id: str
    tool_args: PreToolArgs
    reason: str
    def __init__(self, request_id: _Optional[str] = ..., rule_id: _Optional[str] = ..., tool_args: _Optional[_Union[PreToolArgs, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class Media(_message.Message):
    __slots__ = ("mime_type", "description", "data")
    MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    mime_type: str
    description: str
    data: bytes
    def __init__(self, mime_type: _Optional[str] = ..., description: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class Struct(_message.Message):
    __slots__ = ("fields",)
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    fields: _containers.RepeatedCompositeFieldContainer[Field]
    def __init__(self, fields: _Optional[_Iterable[_Union[Field, _Mapping]]] = ...) -> None: ...

class Field(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: Value
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...

class Value(_message.Message):
    __slots__ = ("null_value", "number_value", "string_value", "bool_value", "struct_value", "list_value", "media", "content_value", "function_value")
    NULL_VALUE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_VALUE_FIELD_NUMBER: _ClassVar[int]
    STRING_VALUE_FIELD_NUMBER: _ClassVar[int]
    BOOL_VALUE_FIELD_NUMBER: _ClassVar[int]
    STRUCT_VALUE_FIELD_NUMBER: _ClassVar[int]
    LIST_VALUE_FIELD_NUMBER: _ClassVar[int]
    MEDIA_FIELD_NUMBER: _ClassVar[int]
    CONTENT_VALUE_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_VALUE_FIELD_NUMBER: _ClassVar[int]
    null_value: _struct_pb2.NullValue
    number_value: float
    string_value: str
    bool_value: bool
    struct_value: Struct
    list_value: ListValue
    media: Media
    content_value: Content
    function_value: Function
    def __init__(self, null_value: _Optional[_Union[_struct_pb2.NullValue, str]] = ..., number_value: _Optional[float] = ..., string_value: _Optional[str] = ..., bool_value: bool = ..., struct_value: _Optional[_Union[Struct, _Mapping]] = ..., list_value: _Optional[_Union[ListValue, _Mapping]] = ..., media: _Optional[_Union[Media, _Mapping]] = ..., content_value: _Optional[_Union[Content, _Mapping]] = ..., function_value: _Optional[_Union[Function, _Mapping]] = ...) -> None: ...

class ListValue(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, values: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class Content(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Function(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

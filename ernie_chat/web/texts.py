"""Every sentence of the page that isn't an error, in English and Chinese. Errors bring their own
(`ernie_chat.errors`); Chainlit's own labels are in `.chainlit/translations`.
"""

from __future__ import annotations

from ernie_chat.errors import Language

TEXTS: dict[str, dict[Language, str]] = {
    # What the engine is doing
    "idle": {"en": "Starting…", "zh": "正在启动…"},
    "downloading": {"en": "Downloading the model…", "zh": "正在下载模型…"},
    "downloading_from": {
        "en": "Downloading the model from {hub}: {percent}",
        "zh": "正在从 {hub} 下载模型：{percent}",
    },
    "loading": {"en": "Loading the model…", "zh": "正在加载模型…"},
    "warming": {"en": "Warming up…", "zh": "正在预热…"},
    "ready": {"en": "Ready", "zh": "已就绪"},
    "failed": {"en": "The model is not available.", "zh": "模型不可用。"},
    "stopped": {"en": "The app is shutting down.", "zh": "程序正在关闭。"},
    "restart_needed": {
        "en": "An engine setting has changed. Restart the app for it to take effect.",
        "zh": "引擎设置已更改，重新启动程序后生效。",
    },
    "stands_in": {
        "en": "{name} answers here, not ERNIE",
        "zh": "当前由 {name} 回答，不是 ERNIE",
    },
    "get_ernie": {
        "en": "{wanted} could not be fetched, so a small English model that ships with the app"
        " stands in. To get ERNIE: connect to the network and restart, or set ERNIE_CHAT_MODEL to"
        " a folder with its weights.",
        "zh": "无法获取 {wanted}，暂由随程序附带的小型英文模型代替。想用 ERNIE：联网后重新启动，"
        "或把 ERNIE_CHAT_MODEL 设为存放其权重的文件夹。",
    },
    "chosen_embedded": {
        "en": "ERNIE_CHAT_MODEL={wanted} chose the small English model that ships with the app."
        " To get ERNIE: unset it, or set it to a folder with ERNIE's weights, then restart.",
        "zh": "ERNIE_CHAT_MODEL={wanted} 选择了随程序附带的小型英文模型。想用 ERNIE："
        "取消该设置，或设为存放 ERNIE 权重的文件夹，然后重新启动。",
    },
    "waiting": {
        "en": "I'll answer as soon as the model is ready. {state}",
        "zh": "模型就绪后我会马上回答。{state}",
    },
    # Under an answer
    "stats_first": {"en": "{seconds} s to first token", "zh": "首字 {seconds} 秒"},
    "stats_speed": {"en": "{speed} tokens/s", "zh": "{speed} token/秒"},
    "stats_prompt": {"en": "{prompt} prompt tokens", "zh": "提示 {prompt} token"},
    "stats_cached": {"en": "{cached} cached", "zh": "缓存 {cached}"},
    "stats_dropped": {"en": "{dropped} dropped", "zh": "舍去 {dropped}"},
    "stats_stopped": {"en": "stopped", "zh": "已停止"},
    "stats_length": {"en": "cut at the length limit", "zh": "已达长度上限"},
    "stats_error": {"en": "interrupted", "zh": "已中断"},
    "stats_help": {
        "en": "Dropped: tokens of this chat that the answer could not take into account.",
        "zh": "舍去：本次回答未能纳入的对话 token 数。",
    },
    "regenerate": {"en": "Regenerate", "zh": "重新生成"},
    # Notices
    "truncated": {
        "en": "Your message has {before:,} tokens. I read its first {head:,} and last {tail:,};"
        " {left_out:,} in the middle are left out.",
        "zh": "您的消息有 {before:,} 个 token。我读取了前 {head:,} 个和后 {tail:,} 个，"
        "中间的 {left_out:,} 个未读取。",
    },
    "forgotten": {
        "en": "This chat is longer than I can remember; its oldest messages no longer count.",
        "zh": "对话已超出我的记忆长度，最早的消息不再计入。",
    },
    "nothing_said": {"en": "(no answer)", "zh": "（没有回答）"},
    # Settings panel
    "system_prompt": {"en": "System prompt", "zh": "系统提示词"},
    "system_prompt_help": {
        "en": "Who the assistant is and how it should answer. Applies from the next message.",
        "zh": "设定助手的身份与回答方式，从下一条消息起生效。",
    },
    "temperature": {"en": "Temperature", "zh": "温度"},
    "temperature_help": {
        "en": "0 always takes the likeliest token; higher is more varied.",
        "zh": "0 总是选最可能的 token；越高越多样。",
    },
    "top_p": {"en": "Top-p", "zh": "Top-p"},
    "top_p_help": {
        "en": "Choose only among the likeliest tokens that together have this probability.",
        "zh": "只在累计概率达到该值的 token 中选择。",
    },
    "repetition_penalty": {"en": "Repetition penalty", "zh": "重复惩罚"},
    "repetition_penalty_help": {
        "en": "Above 1, words already used become less likely. Try 1.05 if answers loop.",
        "zh": "大于 1 时已出现的词更难再出现。回答重复时可试 1.05。",
    },
    "max_tokens": {"en": "Longest answer (tokens)", "zh": "最长回答（token）"},
    "max_tokens_help": {
        "en": "A longer answer is cut here. It shares the context with the chat so far.",
        "zh": "超过即截断。与已有对话共用上下文。",
    },
}


def language_of(tag: str | None) -> Language:
    """Our language for a browser's language tag ("zh-CN", "en-US", ...)."""
    return "zh" if (tag or "").lower().startswith("zh") else "en"


def text(key: str, language: Language, **fields: object) -> str:
    """The sentence `key` in `language`."""
    return TEXTS[key][language].format_map(fields)

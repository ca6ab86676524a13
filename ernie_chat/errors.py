"""Everything that can go wrong, and the sentence a person reads when it does.

    ErnieChatError
    ├── InputError            the message can't be answered as it is; nothing is lost
    │   ├── EmptyMessage
    │   ├── MessageTooLarge
    │   ├── SystemPromptTooLong
    │   └── Busy
    ├── ModelError            weights or tokenizer
    │   ├── ModelNotFound
    │   ├── ModelCorrupt
    │   ├── ModelUnsupported
    │   └── DownloadFailed
    ├── EngineError
    │   ├── EngineStartFailed
    │   │   └── NotEnoughMemory
    │   ├── EngineStopped
    │   └── EngineDied
    ├── SettingsError
    ├── PortInUse
    └── UnexpectedError       a bug of ours; the log has the traceback under the request id

An error crosses rooms, and Chainlit's reload, as plain data: `code` and `fields`. The
sentence is made where it is shown, in that reader's language. This file knows no room.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

Language = Literal["en", "zh"]


class ErnieChatError(Exception):
    """Base of all. `fields` fill the sentence; `detail` is for the log, never for the page."""

    sentences: ClassVar[dict[Language, str]] = {
        "en": "Something went wrong.",
        "zh": "出了点问题。",
    }

    def __init__(self, detail: str = "", **fields: Any) -> None:
        self.detail = detail
        self.fields = fields
        super().__init__(detail or self.sentence("en"))

    @property
    def code(self) -> str:
        return type(self).__name__

    def sentence(self, language: Language) -> str:
        """What happened and what to do, for the person who reads it."""
        return self.sentences[language].format_map(_Blank(self.fields))

    def as_plain(self) -> dict[str, Any]:
        """Plain data that outlives a reload of this module; `from_plain` turns it back."""
        return {"code": self.code, "detail": self.detail, "fields": dict(self.fields)}


class _Blank(dict[str, Any]):
    """A missing field reads as '?': a sentence about an error must never raise one."""

    def __missing__(self, key: str) -> str:
        return "?"


class InputError(ErnieChatError):
    pass


class EmptyMessage(InputError):
    sentences = {
        "en": "That message has no text in it. Please write something.",
        "zh": "这条消息没有内容，请输入文字。",
    }


class MessageTooLarge(InputError):
    """Fields: `characters`, `limit`."""

    sentences = {
        "en": "That message is too large ({characters:,} characters; the limit is {limit:,})."
        " Please send a part of it.",
        "zh": "消息太长（{characters:,} 个字符，上限 {limit:,}），请只发送其中一部分。",
    }

    def sentence(self, language: Language) -> str:
        fields = {"characters": 0, "limit": 0} | self.fields
        return self.sentences[language].format_map(fields)


class SystemPromptTooLong(InputError):
    """Fields: `tokens`, `limit`."""

    sentences = {
        "en": "The system prompt is too long ({tokens} tokens; the limit is {limit})."
        " The previous one stays in force; shorten it in the settings.",
        "zh": "系统提示词太长（{tokens} 个 token，上限 {limit}），仍使用原来的；请在设置中缩短。",
    }


class Busy(InputError):
    sentences = {
        "en": "I'm still answering. Wait for the answer, or press Stop, then send this again.",
        "zh": "我还在回答上一条。请等回答结束或按“停止”，再重新发送。",
    }


class ModelError(ErnieChatError):
    pass


class ModelNotFound(ModelError):
    """Fields: `model`."""

    sentences = {
        "en": "The model “{model}” could not be found. Set ERNIE_CHAT_MODEL to a folder with the"
        " weights, or to a Hugging Face or ModelScope name with the network on, or leave it"
        " unset to use the default, then restart.",
        "zh": "找不到模型“{model}”。请把 ERNIE_CHAT_MODEL 设为存放权重的文件夹，或在联网时设为"
        " Hugging Face / ModelScope 上的模型名，或不设置以使用默认模型，然后重新启动。",
    }


class ModelCorrupt(ModelError):
    """Fields: `model`, `file`."""

    sentences = {
        "en": "The model “{model}” is damaged (file {file}). Delete that file and restart to"
        " fetch it again, or choose another model with ERNIE_CHAT_MODEL.",
        "zh": "模型“{model}”已损坏（文件 {file}）。请删除该文件并重新启动以再次下载，"
        "或用 ERNIE_CHAT_MODEL 选择其他模型。",
    }


class ModelUnsupported(ModelError):
    """Fields: `model`, `reason`."""

    sentences = {
        "en": "The model “{model}” can't be used here: {reason}. Choose another with"
        " ERNIE_CHAT_MODEL and restart.",
        "zh": "无法使用模型“{model}”：{reason}。请用 ERNIE_CHAT_MODEL 选择其他模型并重新启动。",
    }


class DownloadFailed(ModelError):
    """Fields: `model`, `hub`."""

    sentences = {
        "en": "Downloading “{model}” from {hub} failed. What arrived is kept; restart to go on"
        " from there, or set ERNIE_CHAT_MODEL to a local folder.",
        "zh": "从 {hub} 下载“{model}”失败。已下载的部分会保留；重新启动即可继续，"
        "或把 ERNIE_CHAT_MODEL 设为本地文件夹。",
    }


class EngineError(ErnieChatError):
    pass


class EngineStartFailed(EngineError):
    sentences = {
        "en": "The engine could not start. The log says why; fix that and restart.",
        "zh": "引擎无法启动，原因见日志；请解决后重新启动。",
    }


class NotEnoughMemory(EngineStartFailed):
    sentences = {
        "en": "There is not enough memory for the model. Close other programs, or lower"
        " ERNIE_CHAT_CONTEXT_LENGTH or ERNIE_CHAT_KV_CACHE_GIB, then restart.",
        "zh": "内存不足，无法加载模型。请关闭其他程序，或调低 ERNIE_CHAT_CONTEXT_LENGTH 或"
        " ERNIE_CHAT_KV_CACHE_GIB，然后重新启动。",
    }


class EngineStopped(EngineError):
    sentences = {
        "en": "The app is shutting down. Please send that again after the restart.",
        "zh": "程序正在关闭，请在重新启动后再次发送。",
    }


class EngineDied(EngineError):
    sentences = {
        "en": "The engine stopped in the middle of its work. What was written so far is kept."
        " Restart the app to go on.",
        "zh": "引擎中途停止了，已生成的内容已保留。请重新启动程序后继续。",
    }


class SettingsError(ErnieChatError):
    """Fields: `problem`."""

    sentences = {
        "en": "A setting is wrong: {problem}",
        "zh": "设置有误：{problem}",
    }


class PortInUse(ErnieChatError):
    """Fields: `port`."""

    sentences = {
        "en": "Port {port} is already in use, perhaps by another ERNIE Chat. Stop that program,"
        " or choose another port: make chat PORT=8080",
        "zh": "端口 {port} 已被占用，可能另一个 ERNIE Chat 正在运行。请先关闭它，"
        "或换一个端口：make chat PORT=8080",
    }


class UnexpectedError(ErnieChatError):
    """Fields: `request`."""

    sentences = {
        "en": "Sorry, something unexpected went wrong (request {request}). Please try again;"
        " the log has the details under that number.",
        "zh": "抱歉，发生了意外错误（请求 {request}）。请再试一次；详情见日志中的该编号。",
    }


def from_plain(plain: dict[str, Any]) -> ErnieChatError:
    """The error that `as_plain` described; an unknown code becomes the base class."""
    kinds: dict[str, type[ErnieChatError]] = {}
    todo: list[type[ErnieChatError]] = [ErnieChatError]
    while todo:
        kind = todo.pop()
        kinds[kind.__name__] = kind
        todo.extend(kind.__subclasses__())
    kind = kinds.get(plain["code"], ErnieChatError)
    return kind(plain.get("detail", ""), **plain.get("fields", {}))

from __future__ import annotations

import pytest

from ernie_chat.config.settings import ENGINE_FIELDS, ERNIE, Settings, load_settings
from ernie_chat.errors import SettingsError


def test_defaults() -> None:
    settings = Settings()
    assert settings.model == ERNIE
    assert (settings.truncate_head, settings.truncate_tail) == (384, 128)


def test_the_environment_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERNIE_CHAT_CONTEXT_LENGTH", "2048")
    monkeypatch.setenv("ERNIE_CHAT_MODEL", "embedded")
    assert load_settings().context_length == 2048
    assert load_settings().model == "embedded"


@pytest.mark.parametrize(
    ("name", "value"),
    [("CONTEXT_LENGTH", "many"), ("MODEL", ""), ("TRUNCATE_HEAD", "0"), ("BLOCK_SIZE", "17")],
)
def test_a_wrong_value_is_told_by_the_name_one_sets(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"ERNIE_CHAT_{name}", value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert f"ERNIE_CHAT_{name}" in caught.value.sentence("zh")


def test_a_head_and_tail_that_fill_the_context_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERNIE_CHAT_CONTEXT_LENGTH", "512")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert "384 + 128 >= 512" in caught.value.sentence("en")


def test_only_engine_settings_change_the_fingerprint() -> None:
    base = Settings()
    assert base.engine_fingerprint() == Settings(frame_ms=80, max_tokens=7).engine_fingerprint()
    assert base.engine_fingerprint() != Settings(context_length=2048).engine_fingerprint()
    assert set(Settings.model_fields) > ENGINE_FIELDS

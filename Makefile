# make chat | dev | test | lint | unit | help
PYTHON ?= python3
PORT ?= 8000
# Without .pyc files every engine process would spend half a minute compiling.
unexport PYTHONDONTWRITEBYTECODE
bin := .venv/bin

.PHONY: help chat dev test lint unit setup setup-test

help:
	@echo "make chat            set up what is missing, then chat at http://localhost:$(PORT)"
	@echo "make chat PORT=8080  likewise, at another port"
	@echo "make dev             likewise, and reload edited code while the engine stays"
	@echo "make test            lint, types and all tests"
	@echo "make lint, make unit only the first part; only the tests that need no engine"

setup:
	@$(PYTHON) requirements/install.py

setup-test:
	@$(PYTHON) requirements/install.py test
	@requirements/browser.sh

# Chainlit opens a browser itself; without a display it must not try.
headless := $(if $(DISPLAY)$(WAYLAND_DISPLAY),,--headless)

chat: setup
	@exec $(bin)/chainlit run app.py --port $(PORT) $(headless)

dev: setup
	@exec $(bin)/chainlit run app.py -w --port $(PORT) $(headless)

lint: setup-test
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/mypy

unit: setup-test
	$(bin)/pytest -q tests/unit

test: lint
	$(bin)/pytest -q

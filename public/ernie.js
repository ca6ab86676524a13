// The banner: what the engine is doing, and who answers when it isn't ERNIE. The server pushes
// its state as Chainlit's "window_message", which arrives here as a message event; nothing polls.
(() => {
  "use strict";
  const language = (navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";
  const close = { en: "Close", zh: "关闭" };
  let dismissed = "";

  function element(tag, properties = {}, children = []) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  const dots = element("span", { className: "ernie-dots", ariaHidden: "true" }, [
    element("i"), element("i"), element("i"),
  ]);
  const words = element("span");
  const progress = element("progress", { max: 1 });
  const button = element("button", { type: "button", textContent: "×", ariaLabel: close[language] });
  const banner = element("div", { id: "ernie-banner", role: "status", hidden: true }, [
    dots, words, progress, button,
  ]);
  button.addEventListener("click", () => {
    dismissed = words.textContent;
    banner.hidden = true;
  });

  function show(status) {
    const text = status.text[language] || status.text.en;
    banner.dataset.state = status.state;
    words.textContent = text;
    progress.hidden = typeof status.progress !== "number" || status.state !== "downloading";
    if (!progress.hidden) progress.value = status.progress;
    button.hidden = status.state !== "notice" && status.state !== "failed";
    banner.hidden = status.state === "ready" || text === dismissed;
    document.documentElement.dataset.ernie = status.state;
  }

  window.addEventListener("message", (event) => {
    // Only our own page posts here; what another window sends is not ours to show.
    if (event.source === window && event.data && event.data.type === "ernie-status") show(event.data);
  });
  document.body.append(banner);
})();

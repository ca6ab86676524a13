// The banner: what the engine is doing, and who answers when it isn't ERNIE. The server pushes
// its state as Chainlit's "window_message", which arrives here as a message event; nothing polls.
(() => {
  "use strict";

  // Chainlit's default is dark for everyone; ours is what the system says, until someone chooses.
  const THEME = "vite-ui-theme";
  if (!localStorage.getItem(THEME)) localStorage.setItem(THEME, "system");

  const language = (navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";
  const close = { en: "Close", zh: "关闭" };
  let dismissed = "";

  function element(tag, properties = {}, children = []) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  const strokes = ["i", "i", "i"].map((tag) => element(tag));
  const dots = element("span", { className: "ernie-dots", ariaHidden: "true" }, strokes);
  const words = element("span");
  const summary = element("summary");
  const more = element("p");
  const details = element("details", {}, [summary, more]);
  const progress = element("progress", { max: 1 });
  const button = element("button", { type: "button", textContent: "×", ariaLabel: close[language] });
  const banner = element("div", { id: "ernie-banner", role: "status", hidden: true }, [
    dots, words, details, progress, button,
  ]);
  button.addEventListener("click", () => {
    dismissed = banner.dataset.text;
    banner.hidden = true;
  });

  function show(status) {
    const text = status.text[language];
    const long = status.more && status.more[language];
    banner.dataset.state = status.state;
    banner.dataset.text = text;
    words.textContent = text;
    words.hidden = Boolean(long);
    details.hidden = !long;
    summary.textContent = text;
    more.textContent = long || "";
    progress.hidden = typeof status.progress !== "number" || status.state !== "downloading";
    if (!progress.hidden) progress.value = status.progress;
    button.hidden = status.state !== "notice" && status.state !== "failed";
    banner.hidden = status.state === "ready" || text === dismissed;
    document.documentElement.dataset.ernie = status.engine;
  }

  window.addEventListener("message", (event) => {
    // Only our own page posts here; what another window sends is not ours to show.
    if (event.source === window && event.data && event.data.type === "ernie-status") show(event.data);
  });
  document.body.append(banner);
})();

// Texts that do not fit their place: the hint shows the whole of them.

/** Gives a text that is cut off its whole as a hint, once the pointer comes to it. */
export function startHints(): void {
  document.addEventListener("mouseover", ({ target }) => {
    const box = target instanceof Element ? target.closest<HTMLElement>(".clip, .table td") : null;
    if (box === null || box.closest("[title]") !== null || box.scrollWidth <= box.clientWidth) return;
    box.title = box.innerText;
    // Its text may change, or fit again.
    box.addEventListener("mouseleave", () => box.removeAttribute("title"), { once: true });
  });
}

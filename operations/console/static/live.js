// Replaces what is live on the page as the server sends it; not while somebody has the focus in it.
const live = document.querySelector("[data-live]");
if (live) {
  new EventSource(`/live?${live.dataset.live}`).onmessage = (sent) => {
    if (!live.contains(document.activeElement)) live.innerHTML = JSON.parse(sent.data);
  };
}

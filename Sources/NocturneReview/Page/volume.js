"use strict";
/* Review volumes: loading their script, unpacking NIfTI files, and turning meshes into the viewer's coordinates. */
(function (Review) {
  const SLOPE = 112;
  const INTERCEPT = 116;
  const STL_HEADER = 80;
  const STL_RECORD = 50;
  let receiver = null;

  window.nocturneVolume = (item, data) => {
    if (receiver && receiver.item === item) receiver.data = data;
  };

  function bytesOf(base64) {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
    return bytes;
  }

  const volume = (Review.volume = {
    /* The review volume of an item. Several requests are answered one after another. */
    load(entry) {
      const previous = volume.last || Promise.resolve();
      const result = previous.catch(() => {}).then(() => new Promise((resolve, reject) => {
        receiver = { item: entry.item, data: null };
        Review.model.loadScript(Review.dom.itemURL(entry.item, entry.volume), () => {
          const { data } = receiver;
          receiver = null;
          if (data) resolve(data);
          else reject(new Error("The review volume of this item cannot be read."));
        });
      }));
      volume.last = result;
      return result;
    },

    async unpack(base64) {
      const packed = bytesOf(base64);
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      return new Uint8Array(await new Response(stream).arrayBuffer());
    },

    /* Sets the scaling of a NIfTI-1 header so that stored 0 and 255 mean the ends of the window. */
    scale(nifti, window) {
      const view = new DataView(nifti.buffer, nifti.byteOffset);
      const isLittle = view.getInt32(0, true) === 348;
      view.setFloat32(SLOPE, (window.upper - window.lower) / 255, isLittle);
      view.setFloat32(INTERCEPT, window.lower, isLittle);
      return nifti;
    },

    /* A binary STL in RAS+: the viewer does not read SPACE=LPS in the header. Turning by 180° keeps the order of corners. */
    meshBytes(base64) {
      const bytes = bytesOf(base64);
      const header = new TextDecoder("latin1").decode(bytes.subarray(0, STL_HEADER));
      if (!header.includes("SPACE=LPS")) return bytes;
      const view = new DataView(bytes.buffer);
      const count = view.getUint32(STL_HEADER, true);
      for (let triangle = 0; triangle < count; triangle += 1) {
        const start = STL_HEADER + 4 + triangle * STL_RECORD;
        for (let vector = 0; vector < 4; vector += 1) {
          for (let axis = 0; axis < 2; axis += 1) {
            const offset = start + vector * 12 + axis * 4;
            view.setFloat32(offset, -view.getFloat32(offset, true), true);
          }
        }
      }
      return bytes;
    },
  });
})(window.Review);

"use strict";
/* Review volumes: loading their script, unpacking NIfTI files, and turning meshes into the viewer's coordinates. */
(function (Review) {
  /* Of the NIfTI-1 header. */
  const DATATYPE = 70;
  const UINT16 = 512;
  const DATA_OFFSET = 108;
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

  /* Calls `action` for each voxel that has a label, the first axis fastest. */
  function eachVoxel([width, height, depth], valueAt, action) {
    let index = 0;
    for (let k = 0; k < depth; k += 1) {
      for (let j = 0; j < height; j += 1) {
        for (let i = 0; i < width; i += 1, index += 1) {
          const value = valueAt(index);
          if (value !== 0) action(value, i, j, k);
        }
      }
    }
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

    /* Where to begin to look, in mm (RAS+): the voxel of the largest label that is nearest to its centre, or the middle of a
       volume without labels. `labels` is the NIfTI file of the labels, unpacked. */
    placeToStart(labels, { shape, affine }) {
      const view = new DataView(labels.buffer, labels.byteOffset);
      const isLittle = view.getInt32(0, true) === 348;
      const isWide = view.getInt16(DATATYPE, isLittle) === UINT16;
      const start = view.getFloat32(DATA_OFFSET, isLittle);
      const valueAt = (index) => (isWide ? view.getUint16(start + 2 * index, isLittle) : view.getUint8(start + index));
      const [width, height, depth] = shape;
      const sums = new Map();
      eachVoxel(shape, valueAt, (value, i, j, k) => {
        const sum = sums.get(value) || sums.set(value, [0, 0, 0, 0]).get(value);
        sum[0] += 1;
        sum[1] += i;
        sum[2] += j;
        sum[3] += k;
      });
      let largest = null;
      for (const [value, sum] of sums) if (!largest || sum[0] > largest.sum[0]) largest = { value, sum };
      let place = [(width - 1) / 2, (height - 1) / 2, (depth - 1) / 2];
      if (largest) {
        const centre = largest.sum.slice(1).map((each) => each / largest.sum[0]);
        const column = (axis) => Math.hypot(affine[0][axis], affine[1][axis], affine[2][axis]);
        const spacing = [column(0), column(1), column(2)];
        let least = Infinity;
        eachVoxel(shape, valueAt, (value, i, j, k) => {
          if (value !== largest.value) return;
          const distance = Math.hypot((i - centre[0]) * spacing[0], (j - centre[1]) * spacing[1],
            (k - centre[2]) * spacing[2]);
          if (distance >= least) return;
          least = distance;
          place = [i, j, k];
        });
      }
      return [0, 1, 2].map((row) => affine[row][0] * place[0] + affine[row][1] * place[1] + affine[row][2] * place[2]
        + affine[row][3]);
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

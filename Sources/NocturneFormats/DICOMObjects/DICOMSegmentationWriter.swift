internal import CDCMTK
internal import CDICOMParser
public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

extension DICOMSegmentation {
    /// A label to be written as a segment.
    public struct LabelSegment: Hashable, Sendable {
        /// The value in the label volume; never 0.
        public var value: UInt16
        /// The name of the segment.
        public var label: String
        /// The recommended colour of the segment.
        public var color: LabelColor
        /// The category of the segmented object.
        public var category: CodedConcept
        /// The type of the segmented object.
        public var type: CodedConcept

        /// - Parameters:
        ///   - value: in the label volume; never 0.
        ///   - label: the name; at most 64 characters are written.
        ///   - color: shown by viewers that follow the recommendation.
        ///   - category: of the segmented object.
        ///   - type: of the segmented object.
        public init(
            value: UInt16,
            label: String,
            color: LabelColor,
            category: CodedConcept = .anatomicalStructure,
            type: CodedConcept
        ) {
            self.value = value
            self.label = label
            self.color = color
            self.category = category
            self.type = type
        }
    }
}

/// Writes label volumes as DICOM segmentations (SEG) of type BINARY.
///
/// One frame for every slice that contains a segment, bits packed without padding, ordered by segment, then slice.
/// Positions are copied from the source slices without change; every frame refers to its source image, and all source
/// images are listed. Patient and study are copied from the first source inside the C++ shim and are not visible
/// outside it. The UIDs are derived from the fingerprint and the dates from the source, so the same input gives the
/// same bytes.
extension DICOMSegmentation {
    /// Writes the segments that have voxels.
    ///
    /// - Parameters:
    ///   - labels: on the grid of the sources: i = column, j = row, k = slice.
    ///   - segments: values that are not in the volume are skipped, and so are voxel values without a segment.
    ///   - origin: with one source for each k.
    ///   - path: replaced if it exists.
    ///   - bytes: the maximum size of all frames; a larger size is an error.
    /// - Returns: the values that were written; segment number n is the n-th of them. When it is empty, no file was
    ///   written, because an object without frames is invalid.
    /// - Throws: ``DICOMWriteError``.
    /// - Complexity: two passes over the voxels and one more for every frame. One bit per pixel of each frame stays in
    ///   memory until the file is written. The headers of all sources are read.
    @discardableResult
    public static func write(
        _ labels: LabelVolume,
        segments: [LabelSegment],
        from origin: DICOMObjectOrigin,
        to path: String,
        within bytes: Int = Int.max,
        scope: ComputeScope
    ) throws -> [UInt16] {
        let shape = labels.geometry.shape
        let present = try presence(of: segments, in: labels, scope: scope)
        let kept = segments.indices.filter { segment in
            (0..<shape.z).contains { present[$0 * segments.count + segment] }
        }
        guard !kept.isEmpty else { return [] }
        // A frame takes one bit for each pixel, and its functional groups.
        let needed = present.count { $0 } * (shape.sliceCount / 8 + bytesPerFrame)
        guard needed <= bytes else {
            throw DICOMWriteError(
                .tooLarge,
                path: path,
                "the frames of all segments take \(needed) bytes, more than the planned memory"
            )
        }
        let builder = try ObjectBuilder(.segmentation, geometry: labels.geometry, origin: origin, path: path)
        try builder.add(origin.sources, of: labels.geometry, flag: scope.flag)
        var frames: [Frame] = []
        for (number, segment) in kept.enumerated() {
            try add(segments[segment], to: builder)
            for k in 0..<shape.z where present[k * segments.count + segment] {
                var error = cdicom_error()
                let code = cdcmtk_segmentation_add_frame(builder.object, UInt32(number + 1), UInt32(k), &error)
                guard code == CDICOM_OK else { throw DICOMWriteError(code, error, path: path) }
                frames.append(Frame(value: segments[segment].value, slice: k))
            }
        }
        try fillBits(of: frames, from: labels, builder, scope)
        try builder.save()
        return kept.map { segments[$0].value }
    }

    /// The memory for the elements of a frame, both while writing and while reading.
    private static let bytesPerFrame = 12288

    private struct Frame: Sendable {
        let value: UInt16
        let slice: Int
    }

    /// Whether a segment has voxels in a slice, at `slice * segments.count + segment`.
    private static func presence(
        of segments: [LabelSegment],
        in labels: LabelVolume,
        scope: ComputeScope
    ) throws(CancelledError) -> [Bool] {
        let shape = labels.geometry.shape
        // A table over all values, so that a voxel costs one look-up.
        var places = [Int32](repeating: -1, count: 65536)
        for (index, segment) in segments.enumerated() where segment.value != 0 {
            places[Int(segment.value)] = Int32(index)
        }
        let table = places
        var present = [Bool](repeating: false, count: shape.z * segments.count)
        try present.withParallelBuffer { target throws(CancelledError) in
            let count = segments.count
            try labels.voxels.withParallelReader { reader throws(CancelledError) in
                try scope.forEach(shape.z) { k in
                    // Labels come in runs: most voxels equal the one before.
                    var last: UInt16 = 0
                    for index in k * shape.sliceCount..<(k + 1) * shape.sliceCount {
                        let value = reader[index]
                        if value == last { continue }
                        last = value
                        let place = table[Int(value)]
                        if place >= 0 { target[k * count + Int(place)] = true }
                    }
                }
            }
        }
        return present
    }

    private static func add(_ segment: LabelSegment, to builder: borrowing ObjectBuilder) throws(DICOMWriteError) {
        var texts = [dicomText(segment.label, limit: 64)]
        for code in [segment.category, segment.type] {
            texts.append(dicomText(code.scheme, limit: 16))
            texts.append(dicomText(code.value, limit: 64))
            texts.append(dicomText(code.meaning, limit: 64))
        }
        let lab = segment.color.cieLab
        var error = cdicom_error()
        let object = builder.object
        let code = withCStrings(texts) { pointers in
            var plan = cdcmtk_segment()
            plan.label = pointers[0]
            plan.category = (pointers[1], pointers[2], pointers[3])
            plan.type = (pointers[4], pointers[5], pointers[6])
            plan.lab = (lab.x, lab.y, lab.z)
            return cdcmtk_segmentation_add_segment(object, &plan, &error)
        }
        guard code == CDICOM_OK else { throw DICOMWriteError(code, error, path: builder.path) }
    }

    /// Frames are processed in groups of eight, which start at whole bytes whatever the number of pixels.
    private static func fillBits(
        of frames: [Frame],
        from labels: LabelVolume,
        _ builder: borrowing ObjectBuilder,
        _ scope: ComputeScope
    ) throws {
        var error = cdicom_error()
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        let code = cdcmtk_segmentation_pixels(builder.object, &bytes, &count, &error)
        let pixels = labels.geometry.shape.sliceCount
        guard code == CDICOM_OK, let bytes, count == (frames.count * pixels + 7) / 8 else {
            throw DICOMWriteError(code, error, path: builder.path)
        }
        let target = ParallelBuffer(bytes)
        try labels.voxels.withParallelReader { reader throws(CancelledError) in
            try scope.forEach((frames.count + 7) / 8) { group in
                for index in group * 8..<min(group * 8 + 8, frames.count) {
                    let frame = frames[index]
                    // Frames follow each other without padding, and the first pixel is in the lowest bit of a byte (PS3.5,
                    // 8.1.1).
                    let source = reader.base + frame.slice * pixels
                    let start = index * pixels
                    for pixel in 0..<pixels where source[pixel] == frame.value {
                        let bit = start + pixel
                        target[bit >> 3] |= 1 << UInt8(bit & 7)
                    }
                }
            }
        }
    }
}

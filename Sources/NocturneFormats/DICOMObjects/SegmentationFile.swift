internal import CDCMTK
internal import CDICOMParser
internal import NocturneCore

extension DICOMSegmentation {
    /// An open segmentation: header values and frames. To be used by one thread at a time.
    struct File: ~Copyable {
        let file: OpaquePointer
        let path: String
        let facts: cdcmtk_segmentation_facts

        init(path: String, limits: DICOMObjectLimits) throws(DICOMReadError) {
            var opened: OpaquePointer?
            var facts = cdcmtk_segmentation_facts()
            var error = cdicom_error()
            let code = cdcmtk_segmentation_open(path, limits.frames, limits.segments, &opened, &facts, &error)
            guard code == CDICOM_OK, let opened else { throw DICOMReadError(code, error, path: path) }
            file = opened
            self.path = path
            self.facts = facts
        }

        deinit { cdcmtk_segmentation_close(file) }

        var kind: DICOMSegmentation.Kind {
            switch Int(facts.kind) {
            case Int(CDCMTK_SEG_BINARY): .binary
            case Int(CDCMTK_SEG_FRACTIONAL): .fractional
            default: .labelMap
            }
        }

        func frame(_ index: Int) throws(DICOMReadError) -> cdcmtk_segmentation_frame {
            var frame = cdcmtk_segmentation_frame()
            var error = cdicom_error()
            let code = cdcmtk_segmentation_frame_facts(file, index, &frame, &error)
            guard code == CDICOM_OK else { throw DICOMReadError(code, error, path: path) }
            return frame
        }

        func segment(_ index: Int) throws(DICOMReadError) -> DICOMSegmentation.Segment {
            var facts = cdcmtk_segment_facts()
            var error = cdicom_error()
            let code = cdcmtk_segmentation_segment(file, index, &facts, &error)
            guard code == CDICOM_OK else { throw DICOMReadError(code, error, path: path) }
            return DICOMSegmentation.Segment(
                number: UInt16(truncatingIfNeeded: facts.number),
                label: text(facts.label),
                description: text(facts.description),
                algorithmType: text(facts.algorithm_type),
                algorithmName: text(facts.algorithm_name),
                category: CodedConcept(facts.category),
                type: CodedConcept(facts.type),
                color: facts.has_color == 0
                    ? nil : LabelColor(cieLab: SIMD3(facts.lab.0, facts.lab.1, facts.lab.2)),
                volume: 0,
                voxelCount: 0
            )
        }

        /// The stored values of a frame, row by row.
        func read(_ index: Int, into values: inout [UInt16]) throws(DICOMReadError) {
            var error = cdicom_error()
            let code = cdcmtk_segmentation_read_frame(file, index, &values, values.count, &error)
            guard code == CDICOM_OK else { throw DICOMReadError(code, error, path: path) }
        }
    }
}

extension CodedConcept {
    /// Nil when there is no value.
    init?(_ code: cdcmtk_coded_text) {
        let value = text(code.value)
        guard !value.isEmpty else { return nil }
        self.init(scheme: text(code.scheme), value: value, meaning: text(code.meaning))
    }
}

extension DICOMSegmentation.File {
    /// The frames as listed in the header, and the grid that contains them.
    /// - Throws: ``DICOMReadError``, also for more voxels than the limits allow.
    func placedFrames(
        on grid: VolumeGeometry?,
        limits: DICOMObjectLimits
    ) throws(DICOMReadError) -> (frames: [cdcmtk_segmentation_frame], planes: FrameGrid) {
        var frames: [cdcmtk_segmentation_frame] = []
        for index in 0..<facts.frames { frames.append(try frame(index)) }
        let planes = try FrameGrid(
            of: frames,
            columns: Int(facts.columns),
            rows: Int(facts.rows),
            on: grid,
            limits: limits,
            path: path
        )
        guard planes.geometry.shape.count <= limits.voxels else {
            throw DICOMReadError(
                .overLimit,
                path: path,
                detail: "\(planes.geometry.shape) voxels exceed the limit"
            )
        }
        return (frames, planes)
    }

    /// The images that were segmented, each once.
    func images() throws(DICOMReadError) -> [DICOMImageReference] {
        try DICOMImageReference.list(facts.referenced_images) { index throws(DICOMReadError) in
            var image = cdcmtk_image_reference()
            var error = cdicom_error()
            let code = cdcmtk_segmentation_image(file, index, &image, &error)
            guard code == CDICOM_OK else { throw DICOMReadError(code, error, path: path) }
            return image
        }
    }

    /// In the order of the object.
    func segments() throws(DICOMReadError) -> [DICOMSegmentation.Segment] {
        var segments: [DICOMSegmentation.Segment] = []
        for index in 0..<facts.segments { segments.append(try segment(index)) }
        return segments
    }
}

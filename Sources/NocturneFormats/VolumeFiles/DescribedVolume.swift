import NocturneCore
import NocturneSystem

/// What a text header states about its volume.
struct DescribedVolume {
    let format: VolumeFileFormat
    let dataType: StoredVoxelType
    let byteOrder: VolumeFileHeader.ByteOrder
    let shape: VolumeShape
    let placement: Placement
    var labels: [UInt16: VolumeFileHeader.Label] = [:]

    /// Where the voxels lie in the patient.
    struct Placement {
        /// To RAS+ millimetres.
        let affine: Affine
        /// In mm along i, j and k, as the header states it.
        let spacing: SIMD3<Double>
        /// Whether the header states the orientation, rather than the spacing alone.
        let isStated: Bool
    }

    /// Where the voxels are stored.
    struct Storage {
        let path: String
        /// By gzip or zlib, from ``start`` on.
        let isCompressed: Bool
        /// An offset in the file.
        var start: Int
        /// Bytes between that, after decompression, and the voxels; -1 where the voxels end with the file.
        var skipped = 0
    }

    /// Opens the file of the voxels.
    /// - Parameter path: the header.
    /// - Throws: ``VolumeFileError``; also for a placement that is not usable.
    func open(_ path: String, _ storage: Storage, assumesOrientation: Bool) throws(VolumeFileError) -> OpenVolumeFile {
        let spacing = placement.spacing
        guard (0..<3).allSatisfy({ spacing[$0].isFinite && spacing[$0] > 0 }) else {
            let text = (0..<3).map { "\(spacing[$0])" }.joined(separator: "×")
            throw VolumeFileError(.invalidSpacing, path: path, "the voxel spacing \(text) mm is not usable")
        }
        if let fault = NIfTIHeaderParser.fault(placement.affine, "header's") {
            throw VolumeFileError(.invalidAffine, path: path, fault)
        }
        guard storage.start >= 0, storage.start < 1 << 50, storage.skipped >= -1, storage.skipped < 1 << 50 else {
            throw VolumeFileError(.invalidDataOffset, path: path, "the header states no valid offset of the voxels")
        }
        let isCompressed = storage.isCompressed
        let source = try VolumeByteSource(
            path: storage.path,
            isCompressed ? .deflate : .none,
            from: isCompressed ? storage.start : 0
        )
        var offset = storage.skipped + (isCompressed ? 0 : storage.start)
        if storage.skipped < 0 {
            guard !isCompressed else {
                throw VolumeFileError(.unsupportedStorage, path: path, "compressed voxels that end with their file")
            }
            // The voxels are the last bytes of the file, whatever precedes them (byte skip -1 of NRRD and MetaImage).
            offset = max(storage.start, source.fileSize - shape.count * dataType.bytesPerVoxel)
        }
        return try OpenVolumeFile(
            path: path,
            header: header(dataOffset: offset, dataPath: storage.path),
            source: source,
            assumesOrientation: assumesOrientation
        )
    }

    /// The header of the NIfTI file with the same content.
    private func header(dataOffset: Int, dataPath: String) -> VolumeFileHeader {
        VolumeFileHeader(
            format: format,
            version: nil,
            byteOrder: byteOrder,
            dataType: dataType,
            scalingSlope: 1,
            scalingIntercept: 0,
            unusableSlope: nil,
            geometry: VolumeGeometry(shape: shape, affine: placement.affine),
            time: nil,
            pixelSpacing: placement.spacing,
            displayRange: nil,
            // 1 is NIFTI_XFORM_SCANNER_ANAT, 0 means that the file has no such affine.
            qformCode: placement.isStated ? 1 : 0,
            sformCode: placement.isStated ? 1 : 0,
            qform: nil,
            sform: placement.isStated ? placement.affine : nil,
            unusableForm: nil,
            longQuaternion: nil,
            intentCode: 0,
            // NIFTI_UNITS_MM.
            unitsCode: 2,
            extensions: [],
            labels: labels,
            dataOffset: dataOffset,
            dataPath: dataPath
        )
    }
}

extension DescribedVolume.Placement {
    /// What each anatomical space multiplies RAS+ coordinates with.
    static let spaces: [String: SIMD3<Double>] = [
        "right-anterior-superior": SIMD3(1, 1, 1), "ras": SIMD3(1, 1, 1),
        "left-anterior-superior": SIMD3(-1, 1, 1), "las": SIMD3(-1, 1, 1),
        "left-posterior-superior": lps, "lps": lps,
    ]
    /// DICOM's and ITK's space.
    static let lps = SIMD3<Double>(-1, -1, 1)

    /// - Parameters:
    ///   - directions: the steps from a voxel to the next one along each axis, in millimetres of a space.
    ///   - origin: the centre of the first voxel.
    ///   - spacing: nil for the lengths of the directions.
    ///   - space: see ``spaces``.
    init(
        _ directions: [SIMD3<Double>],
        origin: SIMD3<Double>,
        spacing: SIMD3<Double>? = nil,
        space: SIMD3<Double>,
        isStated: Bool
    ) {
        let columns = directions.map { $0 * space }
        affine = Affine(
            columnI: columns[0],
            columnJ: columns[1],
            columnK: columns[2],
            translation: origin * space
        )
        self.spacing = spacing ?? SIMD3(length(columns[0]), length(columns[1]), length(columns[2]))
        self.isStated = isStated
    }

    /// As ITK places an array of which it knows the spacing alone: axes to the left, back and up, from the origin.
    init(assumedWith spacing: SIMD3<Double>) {
        self.init(
            [SIMD3(spacing.x, 0, 0), SIMD3(0, spacing.y, 0), SIMD3(0, 0, spacing.z)],
            origin: .zero,
            spacing: spacing,
            space: Self.lps,
            isStated: false
        )
    }

    /// Millimetres in a unit of length; 1 for an unknown one, as in NIfTI.
    static func millimetres(_ unit: String) -> Double {
        switch unit.lowercased() {
        case "m": 1000
        case "cm": 10
        case "um", "µm", "micron", "microns": 0.001
        default: 1
        }
    }
}

extension DescribedVolume.Storage {
    /// The file of the voxels: a name in the folder of the header. A header that comes from elsewhere must not choose other files.
    static func path(named name: String, by fields: TextHeader.Fields) throws(VolumeFileError) -> String {
        let plain = name.hasPrefix("./") ? String(name.dropFirst(2)) : name
        guard !plain.contains("%"), !isList(plain) else {
            throw fields.unsupported("the voxels are in several files; write them to one")
        }
        guard FileSystem.isName(plain) else {
            throw fields.unsupported(
                "the header places the voxels in another folder; only a file in the header's own folder is read"
            )
        }
        let folder = fields.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(fields.path[...$0]) } ?? ""
        let path = folder + plain
        guard FileSystem.exists(path) else {
            throw VolumeFileError(
                .unreadable,
                path: fields.path,
                "the file of the voxels, which the header names, is missing in the same folder"
            )
        }
        return path
    }

    /// Whether the names of several files follow, in place of a name.
    static func isList(_ name: String) -> Bool {
        let words = name.uppercased()
        return words == "LIST" || words.hasPrefix("LIST ")
    }
}

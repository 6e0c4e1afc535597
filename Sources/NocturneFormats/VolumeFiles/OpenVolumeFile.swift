import NocturneSystem

/// A file whose header has been read and checked; the read position is before its voxels.
struct OpenVolumeFile {
    /// The file with the header, for errors.
    let path: String
    let header: VolumeFileHeader
    /// The file that holds the voxels.
    let source: VolumeByteSource

    /// The maximum size of all extensions that are kept.
    private static let maximumExtensionBytes = 1 << 20

    /// - Parameters:
    ///   - acceptsTimeSeries: whether the file may hold several volumes.
    init(
        path: String,
        assumesOrientation: Bool = false,
        acceptsTimeSeries: Bool = false
    ) throws(VolumeFileError) {
        self.path = path
        let headerPath = try OpenVolumeFile.headerPath(of: path)
        let first = try VolumeByteSource(path: headerPath)
        let parser = try NIfTIHeaderParser(reading: first)
        let offset = try parser.dataOffset()
        // Refuses a file that the fields alone show to be invalid before another byte is read.
        _ = try parser.header(extensions: [], dataOffset: offset, dataPath: headerPath)
        let end = parser.isSingleFile ? offset : Int.max
        let extensions = try OpenVolumeFile.extensions(in: first, of: parser, end: end)
        source =
            parser.isSingleFile
            ? first : try VolumeByteSource(path: try OpenVolumeFile.imagePath(of: headerPath))
        header = try parser.header(extensions: extensions, dataOffset: offset, dataPath: source.path)
        if let time = header.time, !acceptsTimeSeries {
            throw VolumeFileError(
                .notThreeDimensional,
                path: path,
                "4-D image (\(header.shape)×\(time.count)): more than one volume in the file"
            )
        }
        try check(assumesOrientation: assumesOrientation)
    }

    /// A volume in another format, whose header has been read.
    /// - Parameter source: the file of the voxels.
    /// - Throws: ``VolumeFileError`` when it states no orientation, or is too short for its voxels.
    init(
        path: String,
        header: VolumeFileHeader,
        source: VolumeByteSource,
        assumesOrientation: Bool
    ) throws(VolumeFileError) {
        (self.path, self.header, self.source) = (path, header, source)
        try check(assumesOrientation: assumesOrientation)
    }

    private func check(assumesOrientation: Bool) throws(VolumeFileError) {
        if header.hasAssumedOrientation, !assumesOrientation {
            let fact = header.format == .nifti ? "neither a q-form nor an s-form: " : ""
            throw VolumeFileError(
                .missingOrientation,
                path: path,
                fact + "the header does not state the patient orientation"
            )
        }
        try checkLength()
    }

    /// Advances the source to the first voxel of a volume.
    /// - Parameter volume: from 0; their number for the end of the last one.
    func skipToVoxels(of volume: Int, _ flag: CancellationFlag) throws {
        let begin = header.dataOffset + volume * header.volumeByteCount
        guard try source.skip(to: begin, flag) else { throw ended(after: max(0, source.position - header.dataOffset)) }
    }

    /// The error for a file that contains only `count` bytes of voxels.
    func ended(after count: Int) -> VolumeFileError {
        VolumeFileError(
            .truncated,
            path: source.path,
            "the voxels end after \(count) of \(header.storedByteCount) bytes"
        )
    }

    private func checkLength() throws(VolumeFileError) {
        let needed = header.dataOffset + header.storedByteCount
        guard source.maximumContent < needed else { return }
        if source.isCompressed {
            throw VolumeFileError(
                .truncated,
                path: source.path,
                "\(source.fileSize) compressed bytes cannot hold the \(header.storedByteCount) bytes of voxels"
            )
        }
        throw ended(after: max(0, source.fileSize - header.dataOffset))
    }

    /// Reads the extensions between the header and `end`. A damaged one ends the list, as in other readers.
    private static func extensions(
        in source: VolumeByteSource,
        of parser: NIfTIHeaderParser,
        end: Int
    ) throws(VolumeFileError) -> [VolumeFileHeader.Extension] {
        // Four bytes after the header, the first of which is not 0 where extensions follow (nifti1.h, nifti1_extender).
        let flag = try source.read(count: NIfTILayout.extensionFlagLength)
        guard flag.count == NIfTILayout.extensionFlagLength, flag[0] != 0 else { return [] }
        var found: [VolumeFileHeader.Extension] = []
        var remainingBytes = maximumExtensionBytes
        while end - source.position >= 16 {
            let start = try source.read(count: 8)
            guard start.count == 8 else { break }
            let fields = NIfTILayout.Fields(
                bytes: start,
                layout: parser.fields.layout,
                byteOrder: parser.fields.byteOrder
            )
            // `esize` and `ecode`; the size includes both, and is a multiple of 16.
            let size = Int(fields.integer(Int32.self, at: 0))
            let code = Int(fields.integer(Int32.self, at: 4))
            guard size >= 16, size % 16 == 0, size - 8 <= end - source.position, size <= remainingBytes else { break }
            let content = try source.read(count: size - 8)
            guard content.count == size - 8 else { break }
            remainingBytes -= size
            found.append(VolumeFileHeader.Extension(code: code, bytes: content))
        }
        return found
    }

    private static func headerPath(of path: String) throws(VolumeFileError) -> String {
        guard let baseName = baseName(of: path, endings: [".img.gz", ".img"]) else { return path }
        let found = [".hdr", ".hdr.gz", ".HDR"].map { baseName + $0 }.first(where: FileSystem.exists)
        if let found { return found }
        throw missing("\(baseName).hdr", of: path, "its header")
    }

    private static func imagePath(of headerPath: String) throws(VolumeFileError) -> String {
        let baseName = baseName(of: headerPath, endings: [".hdr.gz", ".hdr", ".nii.gz", ".nii"]) ?? headerPath
        let found = [".img", ".img.gz", ".IMG"].map { baseName + $0 }.first(where: FileSystem.exists)
        if let found { return found }
        throw missing("\(baseName).img", of: headerPath, "the file with its voxels")
    }

    /// For the other file of a pair.
    private static func missing(_ other: String, of path: String, _ role: String) -> VolumeFileError {
        func name(_ path: String) -> Substring {
            path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]
        }
        return VolumeFileError(
            .unreadable,
            path: path,
            "\(role), \(name(other)), is missing. Put \(name(other)) next to \(name(path))"
        )
    }

    private static func baseName(of path: String, endings: [String]) -> String? {
        let lowered = path.lowercased()
        return endings.first { lowered.hasSuffix($0) }.map { String(path.dropLast($0.count)) }
    }
}

import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

/// TIFFs whose pages are slices, for models that take them: nnU-Net's `Tiff3DIO`.
struct TIFFVolumes {
    let scope: ComputeScope

    static func isName(_ name: String) -> Bool {
        let lower = name.lowercased()
        return lower.hasSuffix(".tif") || lower.hasSuffix(".tiff")
    }

    /// Every file as a volume, or with the reason why it is none.
    func volumes(_ files: [FoundFile], _ request: DiscoveryRequest) throws -> [FoundVolume] {
        let found = Mutex([Int: FoundVolume]())
        try scope.forEach(files.count) { index in
            request.trace.willRead([files[index].path])
            let volume = volume(files[index])
            found.withLock { $0[index] = volume }
        }
        request.trace.end()
        return found.withLock { found in files.indices.compactMap { found[$0] } }
    }

    private func volume(_ file: FoundFile) -> FoundVolume {
        let side = TIFFSpacing.sideFile(of: file.path)
        let hasSide = FileSystem.exists(side)
        var volume = FoundVolume(
            key: FoundVolume.tiffKeyPrefix + file.path,
            name: VolumeDiscovery.stem(file.fileName),
            path: file.path,
            files: [file],
            images: hasSide ? [file.neighbour(at: side)] : [],
            volume: .failure(Refusal(problem: .unknown(.discovered(.unreadable, "its header was not read")))),
            order: file.path
        )
        do throws(TIFFStackError) {
            volume.volume = .success(
                try retryingTransientErrors(scope) { () throws(TIFFStackError) in
                    let header = try TIFFStackReader.readHeader(at: file.path)
                    return VolumeFacts(header, spacing: hasSide ? try TIFFSpacing.read(at: side) : nil)
                }
            )
        } catch {
            let place = error.path == side ? IdentifierPolicy.mark(volume.images[0].fileName) + ": " : ""
            let reason = ItemReason.discovered(FaultCode(of: error), place + error.detail)
            volume.volume = .failure(Refusal(problem: .refused(reason)))
        }
        return volume
    }
}

extension VolumeFacts {
    /// - Parameter spacing: in mm along columns, rows and pages; nil for 1 mm.
    init(_ header: TIFFStackHeader, spacing: SIMD3<Double>?) {
        let known = spacing ?? SIMD3(1, 1, 1)
        // As ITK places an array: to the left, to the back and upwards, from the origin.
        let affine = Affine.scaling(SIMD3(-known.x, -known.y, known.z))
        self.init(format: .tiff, geometry: VolumeGeometry(shape: header.shape, affine: affine), spacing: known)
        notes = ["a TIFF states no place in a patient: columns run to the left, rows to the back and pages upwards"]
        if spacing == nil { notes.append("no file with the spacing beside it: 1 mm is assumed along all axes") }
    }
}

extension FoundVolume {
    static let tiffKeyPrefix = "tiff:"

    var isTIFF: Bool { key.hasPrefix(Self.tiffKeyPrefix) }

    /// The volume as a model sees it that takes files of a format.
    /// - Parameter model: its id.
    func suited(to format: VolumeSegmentationSettings.InputFormat, model: String) -> FoundVolume {
        var other = self
        switch format {
        case .medical:
            guard isTIFF else { return self }
            let reason = ItemReason.discovered(.unknownFormat, "neither DICOM nor NIfTI")
            (other.key, other.name) = (DiscoveredItem.fileKeyPrefix + path, files[0].fileName)
            other.volume = .failure(Refusal(problem: .unknown(reason)))
        case .tiff:
            guard !isTIFF, !key.hasPrefix(DiscoveredItem.fileKeyPrefix) else { return self }
            let reason = ItemReason.discovered(.notForModel, "\(model) takes TIFFs whose pages are slices")
            other.volume = .failure(Refusal(problem: .setAside(reason)))
        }
        return other
    }
}

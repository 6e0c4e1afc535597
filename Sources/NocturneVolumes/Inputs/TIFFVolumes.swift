import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

/// TIFFs whose pages are slices, for models that take them: nnU-Net's `Tiff3DIO`.
struct TIFFVolumes {
    let scope: ComputeScope

    static func isName(_ name: String) -> Bool {
        let lower = name.lowercased()
        return lower.hasSuffix(".tif") || lower.hasSuffix(".tiff")
    }

    /// A file as a volume, or with the reason why it is none.
    func volume(_ file: FoundFile, _ request: DiscoveryRequest) -> FoundVolume {
        request.trace.willRead([file.path])
        let side = TIFFSpacing.sideFile(of: file.path)
        let hasSide = FileSystem.exists(side)
        var volume = FoundVolume(
            key: FoundVolume.tiffKeyPrefix + file.path,
            name: FoundVolume.stem(file.fileName),
            path: file.path,
            files: [file],
            images: hasSide ? [file.neighbour(at: side)] : [],
            volume: .failure(.setAside(.discovered(.unreadable, "its header was not read"))),
            order: file.path
        )
        do throws(TIFFStackError) {
            volume.volume = .success(
                try retryingTransientErrors(scope) { () throws(TIFFStackError) in
                    let header = try TIFFStackReader.readHeader(at: file.path)
                    return VolumeSource(header, spacing: hasSide ? try TIFFSpacing.read(at: side) : nil)
                }
            )
        } catch {
            // Faults of the file with the spacing name it, as the user has to look there and not at the TIFF.
            let place = error.path == side ? IdentifierPolicy.mark(volume.images[0].fileName) + ": " : ""
            let reason = ItemReason.discovered(FaultCode(of: error), text: place + error.detail)
            volume.volume = .failure(.refused(reason))
        }
        return volume
    }
}

extension VolumeSource {
    /// A TIFF without its names, as discovery finds it.
    /// - Parameter spacing: in mm along columns, rows and pages; nil for 1 mm.
    init(_ header: TIFFStackReader.Header, spacing: SIMD3<Double>?) {
        let known = spacing ?? SIMD3(1, 1, 1)
        // As ITK places an array: to the left, to the back and upwards, from the origin.
        let affine = Affine.scaling(SIMD3(-known.x, -known.y, known.z))
        self.init(format: .tiff, geometry: VolumeGeometry(shape: header.shape, affine: affine), spacing: known)
        var notes = [
            Note(
                "tiff.noPosition",
                "a TIFF has no position in the patient: columns run to the left, rows to the back and pages upwards"
            )
        ]
        if spacing == nil {
            notes.append(
                Note("tiff.spacingAssumed", "no file with the spacing next to it: 1 mm is assumed along all axes")
            )
        }
        self.notes = notes
    }
}

extension FoundVolume {
    static let tiffKeyPrefix = "tiff:"

    var isTIFF: Bool { key.hasPrefix(Self.tiffKeyPrefix) }
}

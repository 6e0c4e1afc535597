import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem

/// NIfTI volumes and label maps, and surfaces.
enum FuzzVolumes {
    /// More than this is not decoded, as a memory budget would have it.
    static let maximumCount = 1 << 16

    static func nifti(_ bytes: UnsafeRawBufferPointer, name: String) -> Bool {
        let path = InputFile.write(bytes, name)
        guard let header = try? NIfTIReader.readHeader(at: path, acceptsTimeSeries: true),
            header.shape.count <= maximumCount
        else { return true }
        let scope = ComputeScope.serial()
        if let time = header.time { _ = try? NIfTIReader.readVolume(at: path, timePoint: time.count - 1, scope: scope) }
        _ = try? NIfTIReader.readVolume(at: path, scope: scope)
        _ = try? NIfTIReader.readLabels(at: path, scope: scope)
        return true
    }

    /// A TIFF whose pages are slices, and labels that it has.
    static func stack(_ path: String) {
        guard let shape = try? TIFFStackReader.readHeader(at: path).shape, shape.count <= maximumCount else { return }
        _ = try? TIFFStackReader.readVolume(at: path, scope: .serial())
    }

    static func stl(_ bytes: UnsafeRawBufferPointer) -> Bool {
        _ = try? STLFormat.contents(at: InputFile.write(bytes, "input.stl"))
        return true
    }

    /// Every mesh format there is; the seeds call their surface "label".
    static func mesh(_ bytes: UnsafeRawBufferPointer) -> Bool {
        for format in MeshFormats.all {
            _ = try? format.read("label", at: InputFile.write(bytes, "input.\(format.fileExtension)"))
        }
        return true
    }
}

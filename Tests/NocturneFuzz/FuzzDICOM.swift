import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem

/// DICOM objects: images, DICOMDIRs, segmentations and structure sets.
enum FuzzDICOM {
    private static let limits = DICOMObjectLimits(
        frames: 1024,
        segments: 256,
        contours: 4096,
        points: 1 << 16,
        voxels: 1 << 16,
        volumes: 4
    )

    /// The way of a run: look, header, series, volume; and single slices, which make none.
    static func series(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let path = InputFile.write(bytes, "input.dcm")
        let scope = ComputeScope.serial()
        guard
            let scan = try? DICOMScanner.scan(
                paths: [path],
                scope: scope,
                rules: DICOMSeries.Rules(correctsStacks: true)
            )
        else { return true }
        if !scan.rejectedFiles.isEmpty { _ = try? MediaDirectory(path: path) }
        _ = (try? PETHeader(path: path)).map { try? SUVFactor($0) }
        for series in scan.series.prefix(4) {
            for slice in series.slices.prefix(2) {
                guard let rows = slice.plane.rows, let columns = slice.plane.columns, (1...2048).contains(rows),
                    (1...512).contains(columns)
                else { continue }
                _ = try? DICOMReader.storedValues(of: slice)
            }
            guard let count = series.geometry?.shape.count, count <= FuzzVolumes.maximumCount else { continue }
            _ = try? DICOMReader.readVolume(series, scope: scope)
        }
        return scan.notDICOM.isEmpty
    }

    static func segmentation(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let path = InputFile.write(bytes, "input.dcm")
        guard DICOMScanner.looksLikeDICOM(path) else { return false }
        _ = try? DICOMSegmentation.readHeader(path: path, limits: limits)
        _ = try? DICOMSegmentation.read(path: path, limits: limits)
        return true
    }

    static func structures(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let path = InputFile.write(bytes, "input.dcm")
        guard DICOMScanner.looksLikeDICOM(path) else { return false }
        _ = try? DICOMStructureSet.read(path: path, limits: limits)
        return true
    }
}

import Foundation
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneSystem

extension FoundVolume {
    /// A DICOM series.
    /// - Parameters:
    ///   - files: those of its slices, by path.
    ///   - isAlone: whether all objects in its folder are its.
    init?(_ series: DICOMSeries, files: [String: FoundFile], isAlone: (_ folder: String) -> Bool) {
        let slices = series.files.compactMap { files[$0] }
        guard let first = slices.min() else { return nil }
        // Only where the folder has several series, as names of items are made of folders.
        let number = series.slices.first?.object.seriesNumber.map { "_s\($0)" } ?? "_series"
        let suffix = (isAlone(first.folderPath) ? "" : number) + (series.part.map { "_" + $0 } ?? "")
        let part = series.part.map { ":\($0)" } ?? ""
        self.init(
            key: "dicom:\(first.folderPath):\(series.seriesInstanceUID)" + part,
            name: first.folderName + suffix,
            path: first.folderPath,
            files: slices,
            volume: Self.volume(series, slices),
            order: first.path + part,
            suffix: suffix
        )
        header = series.slices.first.map { slice in
            (slice.object.patient, slice.object.studyInstanceUID, series.seriesInstanceUID)
        }
    }

    private static func volume(_ series: DICOMSeries, _ files: [FoundFile]) -> Result<VolumeSource, ItemProblem> {
        if let problem = series.problem {
            return .failure(Self.problem(problem, among: series.files, hint: hint(series)))
        }
        guard let source = VolumeSource(series, files: files) else {
            return .failure(.refused(.discovered(.notRecordable, "the series has no geometry")))
        }
        return .success(source)
    }

    /// Files that are not CT or MR volumes are set aside; CT or MR volumes that cannot be used are refused.
    static func problem(_ error: DICOMReadError, among files: [String], hint: String = "") -> ItemProblem {
        let setAsideCodes: Set<DICOMReadError.Code> = [
            .notAnImageClass, .localizer, .mediaDirectory, .colour, .derived, .singleSlice,
        ]
        let detail = IdentifierPolicy.marking(files, in: error.detail)
        if setAsideCodes.contains(error.code) { return .setAside(.discovered(error.faultCode, text: detail + hint)) }
        // Faults of a single file name that file; the others concern the whole stack.
        let singleFileCodes: Set<DICOMReadError.Code> = [
            .notOpened, .notReadable, .nestedTooDeep, .missingElement, .unusableValue, .unsupportedPixels,
            .orientationInvalid, .badDimensions,
            .missingPixelData, .wrongPixelLength, .decoderFailed, .tooLarge,
        ]
        let name = IdentifierPolicy.mark((error.path as NSString).lastPathComponent)
        let prefix = files.count > 1 && singleFileCodes.contains(error.code) ? name + ": " : ""
        return .refused(.discovered(error.faultCode, text: prefix + detail + hint))
    }

    /// What the user can do about a refused series.
    static func hint(_ series: DICOMSeries) -> String {
        if series.problem?.code == .derived { return "; --include-derived processes it" }
        guard let correction = series.possibleCorrection else { return "" }
        let shape = correction.geometry.shape
        return "; --fix-tilt resamples it to \(shape.x)×\(shape.y)×\(shape.z) voxels"
    }

    /// What the user can do about a refused volume file.
    static func hint(_ error: VolumeFileError) -> String {
        let reader = [.nrrd, .metaImage].contains(VolumeFileFormat(ofName: error.path)) ? "ITK" : "nibabel"
        return error.code == .missingOrientation ? "; --assume-orientation reads it as \(reader) does" : ""
    }

    /// A file that is not a volume.
    init(single file: FoundFile, _ problem: ItemProblem) {
        let path = file.path
        self.init(
            key: DiscoveredItem.fileKeyPrefix + path,
            name: file.fileName,
            path: path,
            files: [file],
            volume: .failure(problem),
            order: path
        )
    }
}

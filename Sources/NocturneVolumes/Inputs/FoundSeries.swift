import Foundation
import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneRecipeSupport

/// What discovery keeps of a DICOM series, whose headers take far more memory.
struct FoundSeries {
    let seriesInstanceUID: String
    let part: String?
    /// SeriesNumber of the first slice.
    let number: Int?
    let files: [FoundFile]
    /// The label objects among the files.
    let labels: [LabelObject]
    let volume: Result<VolumeFacts, Refusal>

    /// - Parameter files: those of the series.
    init(_ series: DICOMSeries, files: [FoundFile]) {
        seriesInstanceUID = series.seriesInstanceUID
        part = series.part
        number = series.slices.first?.object.seriesNumber
        self.files = files
        labels = LabelObject.objects(of: series)
        volume = Self.facts(series, files.map(\.path))
    }

    private static func facts(_ series: DICOMSeries, _ files: [String]) -> Result<VolumeFacts, Refusal> {
        if let problem = series.problem {
            let hint = DICOMFiles.hint(series)
            return .failure(Refusal(problem: Self.problem(problem, among: series.files, hint: hint)))
        }
        guard let geometry = series.geometry else {
            return .failure(Refusal(problem: .refused(.discovered(.notRecordable, "the series has no geometry"))))
        }
        return .success(
            VolumeFacts(
                format: .dicom,
                geometry: geometry,
                spacing: geometry.spacing,
                modality: series.modality,
                seriesInstanceUID: series.seriesInstanceUID,
                window: HeaderWindow(series),
                series: SeriesFacts(
                    part: series.part,
                    slices: SeriesSlices(series.slices.map(DICOMSliceName.init), files: files),
                    storedVoxels: series.correction?.storedShape.count,
                    notes: series.notes
                )
            )
        )
    }

    /// Files that are not CT or MR volumes are set aside; CT or MR volumes that cannot be used are refused.
    static func problem(_ error: DICOMReadError, among files: [String], hint: String = "") -> ItemProblem {
        let setAsideCodes: Set<DICOMReadError.Code> = [
            .notAnImageClass, .localizer, .mediaDirectory, .colour, .derived, .singleSlice,
        ]
        let detail = IdentifierPolicy.marking(files, in: error.detail)
        if setAsideCodes.contains(error.code) { return .setAside(.discovered(error.faultCode, detail + hint)) }
        // Faults of a single file name that file; the others concern the whole stack.
        let singleFileCodes: Set<DICOMReadError.Code> = [
            .notOpened, .notReadable, .nestedTooDeep, .missingElement, .unsupportedPixels, .orientationInvalid,
            .missingPixelData, .wrongPixelLength, .decoderFailed, .tooLarge,
        ]
        let name = IdentifierPolicy.mark((error.path as NSString).lastPathComponent)
        let prefix = files.count > 1 && singleFileCodes.contains(error.code) ? name + ": " : ""
        return .refused(.discovered(error.faultCode, prefix + detail + hint))
    }
}

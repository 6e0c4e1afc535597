import NocturneFormats
import NocturneRecipeSupport

/// The volumes among the inputs that labels may refer to.
struct SourceImages {
    /// The volumes that an object may refer to.
    struct Candidates {
        let series: [DICOMSeries]
        /// Whether the object names them; otherwise they only share its frame of reference.
        let isNamed: Bool

        /// Why none of them is used.
        func reason(fits: Int) -> String {
            if series.isEmpty { return "intensities are not measured: the source images are not among the inputs" }
            return fits == 0
                ? "intensities are not measured: the source images lie on another grid"
                : "intensities are not measured: \(fits) series could be the source images, and none is named"
        }
    }

    private let volumes: [DICOMSeries]

    init(_ series: [DICOMSeries]) { volumes = series.filter { $0.problem == nil && $0.geometry != nil } }

    /// The volumes of the named series; else those that contain most of the named images; else, if the object names
    /// nothing, those in the same frame of reference. Never images other than the named ones.
    func candidates(series uid: String, images: Set<String>, frameOfReference: String) -> Candidates {
        func shared(_ series: DICOMSeries) -> Int {
            series.slices.reduce(0) { $0 + (images.contains($1.object.sopInstanceUID) ? 1 : 0) }
        }
        if !images.isEmpty {
            let counted = volumes.map { ($0, shared($0)) }.filter { $0.1 > 0 }
            if let maximum = counted.map(\.1).max() {
                return Candidates(series: counted.filter { $0.1 == maximum }.map(\.0), isNamed: true)
            }
        }
        if !uid.isEmpty {
            return Candidates(series: volumes.filter { $0.seriesInstanceUID == uid }, isNamed: true)
        }
        guard images.isEmpty, !frameOfReference.isEmpty else { return Candidates(series: [], isNamed: false) }
        return Candidates(
            series: volumes.filter { $0.slices.first?.object.frameOfReferenceUID == frameOfReference },
            isNamed: false
        )
    }
}

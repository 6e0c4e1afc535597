import NocturneInference

/// The section `volumeProgram` as written; only types have been checked.
struct VolumeProgramSection: Decodable {
    let grid: Grid?
    let region: Region?
    let parts: [Part]
    let postprocessing: VolumeSegmentationSection.Postprocessing?
    let window: VolumeSegmentationSection.Window?

    struct Grid: Decodable {
        let orientation: String?
        let spacing: [Double]?
        let resampling: Resampling?
    }

    struct Resampling: Decodable {
        let method: String?
        let order: WholeNumber?
        let truncates: Bool?
    }

    struct Region: Decodable {
        let package: String
        let grid: Grid?
        let labels: [String]?
        let marginMm: Double?
        let grows: Bool?
        let truncates: Bool?
    }

    struct Part: Decodable {
        let packages: [String]
        /// Values of the part's labels, as texts, and the program's values that they become.
        let labels: [String: WholeNumber]?
    }
}

/// Which options concern a source: the others are neither in its results nor in its fingerprint, so that giving them to an
/// existing batch leaves its result as it is.
enum OptionScope {
    /// Values by command-line name, without those that do not concern the source.
    /// - Parameter source: nil for one that is refused.
    static func concerning(_ source: VolumeSource?, _ shown: [String: String]) -> [String: String] {
        shown.filter { name, _ in
            switch name {
            // A series that is upright and even stays as it is.
            case "fix-tilt": source?.isCorrected == true
            case "include-derived", "dicom-seg", "rtstruct": source.map { $0.format == .dicom } ?? true
            case "assume-orientation": source.map { $0.format == .nifti } ?? true
            default: true
            }
        }
    }
}

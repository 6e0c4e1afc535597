internal import NocturneCore

#if canImport(Glibc)
    internal import Glibc
#endif

/// Recognises localizers whose ImageType does not say so, as those of GE and Toshiba: one series with a few slices in each
/// of three perpendicular planes.
enum ThreePlaneLocalizer {
    /// More slices in one plane are not needed for planning.
    private static let mostSlices = 20
    /// The largest deviation from a right angle.
    private static let degrees = 15.0

    /// The reason why `slices`, those of one series, are no volume; nil for other series.
    static func problem(_ slices: [DICOMSlice]) -> DICOMReadError? {
        guard (3...3 * mostSlices).contains(slices.count) else { return nil }
        var planes: [(normal: SIMD3<Double>, count: Int)] = []
        for slice in slices {
            guard let row = slice.rowDirection, let column = slice.columnDirection else { return nil }
            let normal = StackFrame.unit(cross(row, column))
            if let known = planes.firstIndex(where: { abs(dot($0.normal, normal)) > cos(degrees * .pi / 180) }) {
                planes[known].count += 1
            } else {
                planes.append((normal, 1))
            }
            guard planes.count <= 3 else { return nil }
        }
        guard planes.count == 3, planes.allSatisfy({ $0.count <= mostSlices }) else { return nil }
        let most = sin(degrees * .pi / 180)
        let pairs = [(0, 1), (0, 2), (1, 2)]
        guard pairs.allSatisfy({ abs(dot(planes[$0.0].normal, planes[$0.1].normal)) <= most }) else { return nil }
        let counts = planes.map { "\($0.count)" }.joined(separator: ", ")
        return DICOMReadError(
            .localizer,
            path: slices[0].path,
            detail: "a localizer: one series with \(counts) slices in three perpendicular planes"
        )
    }
}

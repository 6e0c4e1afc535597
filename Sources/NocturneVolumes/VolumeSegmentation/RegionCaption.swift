import Foundation
import NocturnePostprocess

/// The figures of a measured region in up to four lines, as ``RegionPicture`` shows them.
struct RegionCaption: Equatable {
    let lines: [String]

    /// - Parameters:
    ///   - plane: of the view, in words.
    ///   - unit: of the intensities.
    init(_ measured: RegionMeasurement, plane: String?, unit: String?) {
        switch measured.status {
        case .outside:
            lines = ["\(measured.kind): lies outside the volume"]
            return
        case .notMeasured:
            lines = ["\(measured.kind): not measured", measured.problem ?? ""]
            return
        case .complete, .cut: break
        }
        let sizes = [
            measured.length.map { Self.figure($0) + " mm" },
            measured.angle.map { Self.figure($0) + "°" },
            measured.area.map { Self.figure($0) + " mm²" },
            measured.volume.map { $0 < 1000 ? Self.figure($0) + " mm³" : Self.figure($0 / 1000) + " ml" },
        ]
        let samples = measured.sampleCount.map { "\($0) \(measured.sampleSpacing == nil ? "voxels" : "samples")" }
        var lines = [([measured.kind] + (sizes + [samples]).compactMap { $0 }).joined(separator: ", ")]
        if let intensity = measured.intensity {
            let unit = unit.map { " " + $0 } ?? ""
            lines.append("mean \(Self.figure(intensity.mean))\(unit), SD \(Self.figure(intensity.standardDeviation))")
            lines.append(
                "median \(Self.figure(intensity.median)), "
                    + "\(Self.figure(intensity.minimum)) to \(Self.figure(intensity.maximum))"
            )
        }
        let edge = measured.status == .cut ? "cut by the edge of the volume" : nil
        let view = [plane, edge].compactMap { $0 }.joined(separator: ", ")
        if !view.isEmpty { lines.append(view) }
        self.lines = lines
    }

    /// Two decimals below 10, one below 1000, none above.
    private static func figure(_ value: Double) -> String {
        let decimals = abs(value) < 10 ? 2 : abs(value) < 1000 ? 1 : 0
        return String(format: "%.\(decimals)f", value)
    }
}

import Foundation
import NocturneInference
import NocturneRecipes
import NocturneSystem

extension CheckReport {
    /// The report as text.
    var text: String {
        var lines = ["\(model) \(version): files and digests are correct"]
        for network in networks {
            let shape = network.inputShape.map(String.init).joined(separator: "×")
            lines += ["", "\(network.network), \(shape), \(threads) threads"]
            var rows = [
                [
                    "engine", "precision", "instruction set", "largest diff", "RMS diff", "same class", "s/patch",
                    "speed", "memory",
                ]
            ]
            for row in network.rows {
                rows.append([
                    row.engine, row.precision.rawValue, row.instructionSet,
                    String(format: "%.1e", row.maximumRelativeDifference),
                    String(format: "%.1e", row.rmsRelativeDifference),
                    // Rounded down, so that 100 % means all.
                    String(format: "%.4f %%", (row.agreementPercent * 10_000).rounded(.down) / 10_000),
                    String(format: "%.4f", row.secondsPerPatch), String(format: "%.2f×", row.speedRatio),
                    "\(ByteCount(row.bytes))",
                ])
            }
            lines.append(Terminal.table(rows))
            for absence in network.absent {
                let precision = absence.precision.map { " " + $0.rawValue } ?? ""
                lines.append("not run: \(absence.engine)\(precision): \(absence.reason)")
            }
        }
        return lines.joined(separator: "\n")
    }
}

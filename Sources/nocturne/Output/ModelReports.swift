import Foundation
import NocturneInference
import NocturneRecipes
import NocturneSystem

/// What `models list --json` prints.
struct ModelList: Encodable {
    struct Model: Encodable {
        let folder: String
        /// Null, as are the other members, for a package that cannot be used.
        @Nullable var id: String? = nil
        @Nullable var name: String? = nil
        @Nullable var version: String? = nil
        @Nullable var task: String? = nil
        @Nullable var description: String? = nil
        /// Of a label map, in the order of the package; empty for models without one.
        @Nullable var labels: [String]? = nil
        @Nullable var licence: String? = nil
        @Nullable var digest: String? = nil
        /// The size of its files.
        @Nullable var bytes: Int? = nil
        /// Why the package cannot be used; null for one that can.
        @Nullable var error: String? = nil
    }

    /// The folders in which packages are searched for.
    let searchPath: [String]
    let models: [Model]

    /// Broken packages are listed too, with the error in place of their content.
    init(_ catalog: ModelCatalog, _ entries: [ModelCatalog.Entry]) {
        searchPath = catalog.searchPath
        models = entries.map { entry in
            switch entry.package {
            case .success(let package):
                Model(
                    folder: entry.folder,
                    id: package.id,
                    name: package.name,
                    version: package.version,
                    task: package.task,
                    description: package.description,
                    labels: package.labels.map(\.name),
                    licence: package.licence,
                    digest: package.digest.hex,
                    bytes: package.totalFileBytes
                )
            case .failure(let error):
                Model(folder: entry.folder, error: "\(error)")
            }
        }
    }
}

extension CheckReport {
    /// The report as text.
    var text: String {
        var lines = ["\(model) \(version): files and digests are correct"]
        for network in networks {
            let shape = network.inputShape.map(String.init).joined(separator: "×")
            // A network may have outputs that the package does not use.
            let output =
                network.outputs.count > 1 ? ", output \(network.outputs[0]), the first of \(network.outputs.count)" : ""
            lines += ["", "\(network.network), \(shape), \(counted(threads, "thread"))\(output)"]
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
                // Only packages of the exporters record results of the original library. Other rows end before it.
                if let difference = row.recordedRelativeDifference {
                    rows[rows.count - 1].append(String(format: "%.1e", difference))
                }
            }
            if let library = network.recordedLibrary { rows[0].append("diff to \(library)") }
            lines.append(Terminal.table(rows))
            // Engines that did not run are named: a table without them could be read as if they did not exist.
            for absence in network.absent {
                let precision = absence.precision.map { " " + $0.rawValue } ?? ""
                lines.append("not run: \(absence.engine)\(precision): \(absence.reason)")
            }
        }
        return lines.joined(separator: "\n")
    }
}

extension NetworkProfile {
    /// The profile as text: the peak, the steps in order, and the sums of kinds.
    func text(of timings: NetworkBenchmark.Timings) -> String {
        let patch = timings.patch.map(String.init).joined(separator: "×")
        let best = String(format: "%.4f s", timings.bestSeconds)
        let threads = counted(peak.threads, "thread")
        return [
            "patch \(patch), \(timings.precision.rawValue) on \(timings.instructionSet), \(threads): \(best)",
            "peak: \(peakRates), \(threads)",
            "",
            Self.table(
                steps.map { ($0.figures, [$0.kind.description, $0.method ?? "-", $0.title]) },
                headings: ["kind", "method", "step"]
            ),
            "",
            Self.table(
                kinds.map { ($0.figures, ["\($0.steps)", $0.kind.description]) } + [
                    (total, ["\(steps.count)", "all"])
                ],
                headings: ["steps", "kind"]
            ),
            "",
            "With other numbers of threads, if memory and caches were as fast for each as for \(threads):",
            scalingTable,
        ].joined(separator: "\n")
    }

    /// One row for each number of threads: the predicted time, and the share of it in which threads compute.
    private var scalingTable: String {
        let rows = scaling.map { row in
            [
                "\(row.threads)",
                String(format: "%.4f", row.seconds),
                String(format: "%.1f %%", 100 * row.efficiency),
                String(format: "%.1f", row.gigabytesPerSecond),
            ]
        }
        return Terminal.table([["threads", "s", "of their time computing", "GB/s"]] + rows)
    }

    private var peakRates: String {
        var rates = [String(format: "%.1f GFLOP/s in float32 (\(peak.instructionSet))", peak.gigaflopsPerSecond)]
        if let pairs = peak.bfloat16GigaflopsPerSecond {
            rates.append(String(format: "%.1f GFLOP/s in bfloat16", pairs))
        }
        rates.append(String(format: "%.1f GB/s of copies", peak.gigabytesPerSecond))
        return rates.joined(separator: ", ")
    }

    private static func table(_ rows: [(Figures, [String])], headings: [String]) -> String {
        let numbers = ["ms", "time", "effective GFLOP/s", "real GFLOP/s", "of peak", "MB", "GB/s", "of peak"]
        let rates: [[String]] = [numbers] + rows.map { cells(of: $0.0) }
        let widths: [Int] = numbers.indices.map { column in rates.map { $0[column].count }.max() ?? 0 }
        let words: [[String]] = [headings] + rows.map(\.1)
        let lines: [[String]] = zip(rates, words).map { rates, words in
            // Numbers to the right, so that their digits are below each other; `Terminal.table` aligns to the left.
            let aligned = zip(rates, widths).map { cell, width in
                String(repeating: " ", count: width - cell.count) + cell
            }
            return aligned + words
        }
        return Terminal.table(lines)
    }

    private static func cells(of figures: Figures) -> [String] {
        // A step without arithmetic, such as a copy, has no rate. 0.0 would look like a slow one.
        func rate(_ value: Double) -> String { figures.realOperations > 0 ? String(format: "%.1f", value) : "-" }
        func share(_ value: Double?) -> String { value.map { String(format: "%.1f %%", 100 * $0) } ?? "-" }
        return [
            String(format: "%.3f", 1000 * figures.seconds), share(figures.timeShare),
            rate(figures.effectiveGigaflopsPerSecond), rate(figures.realGigaflopsPerSecond),
            share(figures.arithmeticShare), String(format: "%.2f", figures.bytes / 1e6),
            String(format: "%.1f", figures.gigabytesPerSecond), share(figures.memoryShare),
        ]
    }
}

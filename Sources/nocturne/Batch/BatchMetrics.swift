import Foundation
import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// What `status --format prometheus` prints: the state of a batch as metrics.
struct BatchMetrics {
    private let report: StatusReport
    private let items: [JournalItem]
    private let isActive: Bool

    /// The state is read once; nothing changes while the text is made.
    init(_ state: BatchState) {
        (report, items, isActive) = (state.report, state.items, state.isActive)
    }

    var text: String {
        var text = Text(output: report.output)
        addItems(&text)
        addRun(&text)
        if let shards = report.shards {
            let states: [DividedBatch.Shard.State] = [.waiting, .running, .stopped, .finished, .lost]
            text.add(
                "nocturne_shards",
                "Shards of the divided batch by state.",
                by: "state",
                states.map { state in (state.rawValue, Double(shards.count { $0.state == state })) }
            )
        }
        return text.text
    }

    /// Every state has a sample, also with 0, so that a series never begins or ends in between.
    private func addItems(_ text: inout Text) {
        let counts = report.counts
        text.add(
            "nocturne_items",
            "Items of the batch by state.",
            by: "state",
            [
                ("completed", counts.completed), ("failed", counts.failed), ("skipped", counts.skipped),
                ("cancelled", counts.cancelled), ("quarantined", counts.quarantined),
                ("not_reached", counts.notReached),
            ].map { ($0.0, Double($0.1)) }
        )
        // By code, and not by text: texts name items, and every new value of a label is a further series.
        let codes = Dictionary(grouping: report.failures) { $0.code ?? "unknown" }.mapValues(\.count)
        text.add(
            "nocturne_items_not_completed",
            "Failed, quarantined and cancelled items by the code of the reason.",
            by: "code",
            codes.sorted { $0.key < $1.key }.map { ($0.key, Double($0.value)) }
        )
        text.add("nocturne_items_active", "Items that are being processed.", Double(report.inFlight.count))
        text.add(
            // Timestamps are in UTC and of one form, so that the largest text is the latest one.
            "nocturne_last_item_end_timestamp_seconds",
            "When an item last ended, in seconds since 1970.",
            items.lazy.filter { $0.state != .started && $0.state != .pending }.compactMap(\.changed).max()
                .flatMap(Self.seconds)
        )
    }

    /// Without a run's report of its progress only the first two metrics are there.
    private func addRun(_ text: inout Text) {
        text.add("nocturne_run_active", "Whether a run is active: 1 or 0.", isActive ? 1 : 0)
        text.add("nocturne_run_waiting", "Whether the run waits, such as for free space: 1 or 0.", waiting)
        guard let progress = report.progress else { return }
        text.add("nocturne_run_elapsed_seconds", "Seconds since the run began.", progress.elapsedSeconds)
        text.add("nocturne_run_remaining_seconds", "Seconds until the run probably ends.", progress.etaSeconds)
        text.add("nocturne_run_queued_items", "Items that wait for their turn.", Double(progress.queued))
        text.add(
            "nocturne_run_items_per_second",
            "Items that this run has completed, divided by its seconds.",
            throughput(progress)
        )
        let memory = progress.memory
        text.add(
            "nocturne_memory_resident_bytes",
            "Resident memory of the engine's process.",
            memory.residentBytes.map(Double.init)
        )
        text.add("nocturne_memory_reserved_bytes", "Memory reserved for active items.", Double(memory.leasedBytes))
        text.add("nocturne_memory_budget_bytes", "The memory budget of the run.", Double(memory.budgetBytes))
        text.add(
            "nocturne_memory_pressure",
            "The level of memory pressure: 1 for the present one, 0 for others.",
            by: "level",
            ["normal", "warning", "critical"].map { ($0, $0 == memory.pressure ? 1 : 0) }
        )
        if let device = progress.device {
            text.add(
                "nocturne_device_time_ratio",
                "Shares of the last half minute in which the device ran a network, or waited.",
                by: "state",
                [
                    ("busy", device.busy), ("waiting-for-processor", device.waitingForProcessor),
                    ("waiting-for-items", device.waitingForItems),
                ]
            )
        }
    }

    /// Nil without a run.
    private var waiting: Double? { report.runningProcess == nil ? nil : report.waitingFor == nil ? 0 : 1 }

    /// Completed items that ended since this run began, by its seconds; nil in its first moment.
    private func throughput(_ progress: RunProgress) -> Double? {
        guard progress.elapsedSeconds > 0, let now = Self.seconds(progress.time) else { return nil }
        let start = now - progress.elapsedSeconds
        // Results of earlier runs are left out: they were not made in these seconds.
        let completed = items.count {
            $0.state == .completed && ($0.changed.flatMap(Self.seconds).map { $0 >= start } ?? false)
        }
        return Double(completed) / progress.elapsedSeconds
    }

    /// Seconds since 1970 of a timestamp.
    private static func seconds(_ timestamp: String) -> Double? {
        Date(timestamp: timestamp)?.timeIntervalSince1970
    }
}

extension BatchMetrics {
    /// Metrics in Prometheus's text format, version 0.0.4.
    struct Text {
        private(set) var text = ""
        /// A label of every sample.
        private let output: String

        init(output: String) { self.output = output }

        /// Adds a gauge with one value; nil leaves it out.
        mutating func add(_ name: String, _ help: String, _ value: Double?) {
            add(name, help, by: nil, value.map { [("", $0)] } ?? [])
        }

        /// Adds a gauge with one value for each value of a label; without values it is left out.
        /// - Parameters:
        ///   - help: one line.
        ///   - label: nil for a gauge with one value.
        mutating func add(_ name: String, _ help: String, by label: String?, _ values: [(String, Double)]) {
            guard !values.isEmpty else { return }
            text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) gauge\n"
            for (value, number) in values {
                let labels = [("output", output)] + (label.map { [($0, value)] } ?? [])
                let shown = labels.map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }.joined(separator: ",")
                text += "\(name){\(shown)} \(CSVField.number(number))\n"
            }
        }

        /// As the text format requires: backslash and line feed everywhere, quotation marks in values of labels only.
        private static func escaped(_ text: String, quotes: Bool) -> String {
            // Backslashes first, or those of the other replacements would be replaced again.
            var result = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
            if quotes { result = result.replacing("\"", with: "\\\"") }
            return result
        }
    }
}

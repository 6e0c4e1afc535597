import Foundation
package import NocturneOutput
package import NocturneSystem

/// One entry of a trace in the format of Chrome's trace viewer, which Perfetto reads. Times are in microseconds.
package struct TraceEntry: Encodable, Sendable, Hashable {
    /// The kinds of entries that are used, by the letters of the format.
    package enum Phase: String, Encodable, Sendable {
        case slice = "X"
        case counter = "C"
        case instant = "i"
        case metadata = "M"
    }

    /// What the viewer shows on the slice.
    package let name: String
    /// The category, by which viewers filter and colour.
    package let cat: String
    /// The kind of entry. The names of these members are those of the format.
    package let ph: Phase
    /// Since the first event of the batch.
    package let ts: Int
    /// Of a slice; nil for other entries.
    package var dur: Int?
    /// Of the run: 1000, 2000 and so on.
    package let pid: Int
    /// That of the run for the run itself, which viewers take for its main thread; the following ones for tracks of items. Viewers
    /// take equal numbers for one thread.
    package let tid: Int
    /// What the viewer shows of an entry that is selected; of metadata the name.
    package var args: [String: JSONValue]?
    /// How far an instant's line goes: the process.
    package var s: String?
}

/// Turns the events of a batch into a trace: a process for each run, and in it tracks on which items stand with their stages
/// below them. An item takes the first track that is free, so that there are as many as items were active at once.
package struct RunTrace: Sendable {
    private struct Active: Sendable {
        let start: Int
        let track: Int
    }

    private var origin: Date?
    private var last = 0
    private var run = 0
    private var runStart = 0
    private var active: [String: Active] = [:]
    private var tracks = 0

    /// Before the first event.
    package init() {}

    /// How the file of every trace begins.
    package static let beginning = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":["

    /// Takes the next event.
    /// - Returns: what it completes. Nothing for an event whose time cannot be read.
    package mutating func add(_ event: BatchEvent) -> [TraceEntry] {
        guard let date = Date(timestamp: event.time) else { return [] }
        let start = origin ?? date
        origin = start
        // Somebody may set the clock during a run.
        last = max(last, Int((date.timeIntervalSince(start) * 1e6).rounded()))
        switch event.event {
        case .batchStarted: return end() + begin()
        case .batchFinished: return end()
        case .itemStarted: return event.item.map { begin($0) } ?? []
        case .itemCompleted, .itemFailed, .itemInterrupted, .itemRetried, .itemCancelled, .itemQuarantined:
            return event.item.map { end($0, event) } ?? []
        case .heartbeat: return memory(event) + device(event)
        case .note, .pressure, .disk, .paused, .continued: return note(event)
        case .itemSkipped: return []
        }
    }

    /// Ends the run and the items that are still active, as those of a killed process are.
    package mutating func end() -> [TraceEntry] {
        var entries: [TraceEntry] = []
        for (item, _) in active.sorted(by: { $0.value.track < $1.value.track }) {
            entries += end(item, BatchEvent(.itemInterrupted, item: item))
        }
        if runStart >= 0, run > 0 {
            entries.append(entry("run", "run", .slice, at: runStart, track: 0, duration: last - runStart))
        }
        runStart = -1
        return entries
    }

    private mutating func begin() -> [TraceEntry] {
        run += 1
        runStart = last
        tracks = 0
        return [label("process_name", "run \(run)", track: 0), label("thread_name", "run", track: 0)]
    }

    private mutating func begin(_ item: String) -> [TraceEntry] {
        // The lowest free track, so that a trace has no more tracks than items were active at once.
        let taken = Set(active.values.map(\.track))
        let track = (1...).first { !taken.contains($0) } ?? 1
        active[item] = Active(start: last, track: track)
        guard track > tracks else { return [] }
        tracks = track
        return [label("thread_name", "items \(track)", track: track)]
    }

    private mutating func end(_ item: String, _ event: BatchEvent) -> [TraceEntry] {
        guard let found = active.removeValue(forKey: item) else { return [] }
        let duration = last - found.start
        var whole = entry(item, "item", .slice, at: found.start, track: found.track, duration: duration)
        whole.args = ["end": .string(event.event.rawValue)]
        if let code = event.code { whole.args?["code"] = .string(code) }
        // A stage may be done within the precision of the times: then the one that ended first came first.
        let stages = (event.stages ?? [:]).filter { $0.value.count == 2 }.sorted { one, other in
            (one.value[0], one.value[1], one.key) < (other.value[0], other.value[1], other.key)
        }
        // Events have milliseconds, stages more: what stands below an item must not reach beyond it.
        func within(_ seconds: Double) -> Int { min(max(Int((seconds * 1e6).rounded()), 0), duration) }
        return [whole]
            + stages.map { stage, times in
                let begin = within(times[0])
                let length = within(times[1]) - begin
                return entry(stage, "stage", .slice, at: found.start + begin, track: found.track, duration: length)
            }
    }

    private func memory(_ event: BatchEvent) -> [TraceEntry] {
        guard let resident = event.residentBytes else { return [] }
        var counter = entry("memory", "memory", .counter, at: last, track: 0)
        counter.args = ["resident": .number(Double(resident)), "reserved": .number(Double(event.leasedBytes ?? 0))]
        return [counter]
    }

    /// In percent; viewers stack the series of a counter.
    private func device(_ event: BatchEvent) -> [TraceEntry] {
        guard let use = event.device else { return [] }
        var counter = entry("device", "device", .counter, at: last, track: 0)
        func percent(_ share: Double) -> JSONValue { .number((1000 * share).rounded() / 10) }
        counter.args = [
            "busy": percent(use.busy),
            "waiting for the processor": percent(use.waitingForProcessor),
            "waiting for items": percent(use.waitingForItems),
        ]
        return [counter]
    }

    private func note(_ event: BatchEvent) -> [TraceEntry] {
        var note = entry(event.reason ?? event.event.rawValue, event.event.rawValue, .instant, at: last, track: 0)
        note.s = "p"
        return [note]
    }

    private func label(_ kind: String, _ name: String, track: Int) -> TraceEntry {
        var label = entry(kind, "__metadata", .metadata, at: 0, track: track)
        label.args = ["name": .string(name)]
        return label
    }

    private func entry(
        _ name: String,
        _ category: String,
        _ phase: TraceEntry.Phase,
        at time: Int,
        track: Int,
        duration: Int? = nil
    ) -> TraceEntry {
        // Numbers of tracks follow that of the run: a run has fewer than 1000 items active at once.
        let process = max(run, 1) * 1000
        return TraceEntry(
            name: name,
            cat: category,
            ph: phase,
            ts: time,
            dur: duration,
            pid: process,
            tid: process + track
        )
    }
}

extension OutputFolder {
    /// Writes the events as a trace. The file takes its place when it is complete.
    /// - Throws: `FileSystemError`.
    package func writeTrace(to path: String) throws {
        let file = try ReplacementFile(for: path)
        try writeTrace { try file.write($0) }
        try file.putInPlace()
    }

    /// Passes on the events as a trace, piece by piece.
    /// - Throws: `FileSystemError` where the events cannot be read; the errors of `write`.
    package func writeTrace(_ write: ([UInt8]) throws -> Void) throws {
        var lines = try LineReader(events)
        try write(Array((RunTrace.beginning + "\n").utf8))
        var trace = RunTrace()
        var isFirst = true
        func add(_ entries: [TraceEntry]) throws {
            for entry in entries {
                try write((isFirst ? [] : Array(",".utf8)) + StableJSON.encodeLine(entry))
                isFirst = false
            }
        }
        let decoder = JSONDecoder()
        while let line = try lines.next() {
            // A line that a killed process has left unfinished contains no event.
            guard let event = try? decoder.decode(BatchEvent.self, from: Data(line)) else { continue }
            try add(trace.add(event))
        }
        try add(trace.end())
        try write(Array("]}\n".utf8))
    }
}

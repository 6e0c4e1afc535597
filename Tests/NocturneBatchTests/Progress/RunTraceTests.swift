import Foundation
import NocturneBatch
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The trace of a batch")
struct RunTraceTests {
    private func event(
        _ kind: BatchEvent.Kind,
        _ time: String,
        item: String? = nil,
        stages: [String: [Double]]? = nil
    ) throws -> BatchEvent {
        var members: [String: Any] = ["event": kind.rawValue, "time": "2026-11-24T20:00:\(time)Z"]
        members["item"] = item
        members["stages"] = stages
        return try JSONDecoder().decode(BatchEvent.self, from: JSONSerialization.data(withJSONObject: members))
    }

    private func slices(_ events: [BatchEvent]) -> [TraceEntry] {
        var trace = RunTrace()
        let entries = events.flatMap { trace.add($0) } + trace.end()
        return entries.filter { $0.ph == .slice }
    }

    @Test("Stages that began at the same moment are always in the same order: that of their ends, then of their names")
    func equalTimes() throws {
        let stages = ["e": [0.5, 0.5], "d": [0, 0.5], "c": [0, 0.1], "b": [0, 0], "a": [0, 0]]
        let found = slices([
            try event(.batchStarted, "00.000"), try event(.itemStarted, "01.000", item: "one"),
            try event(.itemCompleted, "03.000", item: "one", stages: stages),
        ])
        #expect(found.filter { $0.cat == "stage" }.map(\.name) == ["a", "b", "c", "d", "e"])
    }

    @Test("Items that were active at once stand on tracks of their own, with their stages within them")
    func tracks() throws {
        let found = slices([
            try event(.batchStarted, "00.000"), try event(.itemStarted, "01.000", item: "a"),
            try event(.itemStarted, "01.500", item: "b"),
            try event(
                .itemCompleted,
                "03.000",
                item: "a",
                stages: ["load": [0, 0.25], "infer": [0.5, 1.75], "write": [1.8, 2.0004]]
            ),
            try event(.itemStarted, "03.000", item: "c"), try event(.itemFailed, "03.500", item: "b"),
            try event(.itemCompleted, "04.000", item: "c"), try event(.batchFinished, "05.000"),
        ])
        func slice(_ name: String) -> TraceEntry? { found.first { $0.name == name } }
        #expect(slice("a").map { [$0.ts, $0.dur ?? 0, $0.tid] } == [1_000_000, 2_000_000, 1001])
        #expect(slice("b").map { [$0.ts, $0.dur ?? 0, $0.tid] } == [1_500_000, 2_000_000, 1002])
        #expect(slice("c")?.tid == 1001)
        #expect(slice("infer").map { [$0.ts, $0.dur ?? 0, $0.tid] } == [1_500_000, 1_250_000, 1001])
        #expect(slice("write").map { $0.ts + ($0.dur ?? 0) } == 3_000_000)
        #expect(slice("run").map { [$0.ts, $0.dur ?? 0, $0.tid] } == [0, 5_000_000, 1000])
        #expect(slice("b")?.args?["end"] == .string("itemFailed"))
    }

    @Test("A sign of life is a point of the curves of memory, and of the device where one was used")
    func counters() throws {
        let line = """
            {"event":"heartbeat","time":"2026-11-24T20:00:30.000Z","residentBytes":9,"leasedBytes":4,
             "device":{"busy":0.5,"waitingForProcessor":0.3,"waitingForItems":0.2}}
            """
        var trace = RunTrace()
        let found = trace.add(try JSONDecoder().decode(BatchEvent.self, from: Data(line.utf8)))
        #expect(found.map(\.ph) == [.counter, .counter])
        #expect(found.first?.args == ["resident": .number(9), "reserved": .number(4)])
        #expect(
            found.last?.args
                == ["busy": .number(50), "waiting for the processor": .number(30), "waiting for items": .number(20)]
        )
        #expect(trace.add(try event(.heartbeat, "31.000")).isEmpty)
    }

    @Test("A run that was killed ends with its last event; the next one is a process of its own")
    func killed() throws {
        let found = slices([
            try event(.batchStarted, "00.000"), try event(.itemStarted, "01.000", item: "a"),
            try event(.heartbeat, "02.000"), try event(.batchStarted, "10.000"),
            try event(.itemStarted, "11.000", item: "a"), try event(.itemCompleted, "12.000", item: "a"),
        ])
        #expect(found.filter { $0.name == "a" }.map(\.pid) == [1000, 2000])
        #expect(found.filter { $0.name == "run" }.map { $0.ts } == [0, 10_000_000])
        // The last one has not ended yet.
        #expect(found.last?.dur == 2_000_000)
    }
}

import NocturneInference
import NocturneTestSupport
import Testing

@Suite("The workspace planner")
struct WorkspacePlannerTests {
    @Test("never lets two buffers in use at the same time overlap", arguments: 0..<20)
    func overlap(seed: Int) throws {
        var generator = SplitMix64(seed: UInt64(seed))
        let spans = (0..<60).map { _ in
            let first = Int.random(in: 0..<80, using: &generator)
            return WorkspacePlanner.Span(
                bytes: Int.random(in: 0..<5000, using: &generator),
                first: first,
                last: first + Int.random(in: 0..<12, using: &generator)
            )
        }
        let layout = try #require(WorkspacePlanner.layout(spans))
        for (a, first) in spans.enumerated() where first.bytes > 0 {
            #expect(layout.offsets[a] % WorkspacePlanner.alignment == 0)
            #expect(layout.offsets[a] + first.bytes <= layout.bytes)
            for (b, second) in spans.enumerated() where b > a && second.bytes > 0 {
                guard first.first <= second.last, second.first <= first.last else { continue }
                #expect(
                    layout.offsets[a] + first.bytes <= layout.offsets[b]
                        || layout.offsets[b] + second.bytes <= layout.offsets[a]
                )
            }
        }
        let busiest = (0..<100).map { step in
            spans.filter { $0.first <= step && step <= $0.last }.reduce(0) { $0 + $1.bytes }
        }.max()
        #expect(layout.bytes >= busiest ?? 0)
    }

    @Test("gives a chain of layers two buffers' worth")
    func chain() throws {
        let spans = (0..<10).map { WorkspacePlanner.Span(bytes: 640, first: $0, last: $0 + 1) }
        #expect(WorkspacePlanner.layout(spans)?.bytes == 1280)
    }

    @Test("says so when the sum does not fit an address space")
    func tooLarge() {
        let spans = (0..<4).map { _ in WorkspacePlanner.Span(bytes: 1 << 45, first: 0, last: 1) }
        #expect(WorkspacePlanner.layout(spans) == nil)
        #expect(WorkspacePlanner.layout([.init(bytes: Int.max, first: 0, last: 0)]) == nil)
    }
}

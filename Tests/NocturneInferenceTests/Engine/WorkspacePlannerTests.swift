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

    @Test("lets outputs of a chain begin before or after their source by no more than they need")
    func chainOfOverlaps() throws {
        let spans = (0..<10).map { WorkspacePlanner.Span(bytes: 6400, first: $0, last: $0 + 1) }
        let overlaps = (1..<10).map {
            WorkspacePlanner.Overlap(output: $0, source: $0 - 1, distances: (below: 128, above: 192))
        }
        let layout = try #require(WorkspacePlanner.layout(spans, overlaps: overlaps))
        // The first one is lowest, the second behind it by 192 bytes, the third before that one by 128 bytes or more.
        #expect(layout.bytes == 6400 + 192)
        #expect(layout.offsets == (0..<10).map { $0 % 2 == 0 ? 0 : 192 })
    }

    @Test("keeps the distances of overlaps, and all other buffers apart", arguments: 0..<20)
    func overlaps(seed: Int) throws {
        var generator = SplitMix64(seed: UInt64(seed))
        // The output of a step, which others may read later, over what the step before computed.
        let spans = (0..<40).map { step in
            WorkspacePlanner.Span(
                bytes: Int.random(in: 1..<5000, using: &generator),
                first: step,
                last: step + Int.random(in: 1..<4, using: &generator)
            )
        }
        let overlaps = (1..<40).filter { spans[$0 - 1].last == $0 }.map { step in
            let distances = (Int.random(in: 0..<6000, using: &generator), Int.random(in: 0..<6000, using: &generator))
            return WorkspacePlanner.Overlap(output: step, source: step - 1, distances: distances)
        }
        let layout = try #require(WorkspacePlanner.layout(spans, overlaps: overlaps))
        func areApart(_ a: Int, _ b: Int) -> Bool {
            let (first, second) = (layout.offsets[a], layout.offsets[b])
            return first + spans[a].bytes <= second || second + spans[b].bytes <= first
        }
        for a in spans.indices {
            #expect(layout.offsets[a] + spans[a].bytes <= layout.bytes)
            for b in spans.indices where b > a && spans[b].first <= spans[a].last {
                let distance = layout.offsets[a] - layout.offsets[b]
                let overlap = overlaps.first { $0.output == b && $0.source == a }
                #expect(areApart(a, b) || overlap.map { distance >= $0.below || -distance >= $0.above } == true)
            }
        }
        let separate = try #require(WorkspacePlanner.layout(spans))
        #expect(overlaps.isEmpty || layout.bytes <= separate.bytes * 5 / 4)
    }

    @Test("says so when the sum does not fit an address space")
    func tooLarge() {
        let spans = (0..<4).map { _ in WorkspacePlanner.Span(bytes: 1 << 45, first: 0, last: 1) }
        #expect(WorkspacePlanner.layout(spans) == nil)
        #expect(WorkspacePlanner.layout([.init(bytes: Int.max, first: 0, last: 0)]) == nil)
    }
}

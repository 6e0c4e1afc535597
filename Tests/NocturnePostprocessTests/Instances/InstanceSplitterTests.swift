import Foundation
import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Taking maps apart")
struct InstanceSplitterTests {
    /// Maps of rectangles as a perfect network would give them.
    private func maps(
        width: Int,
        height: Int,
        boxes: [PixelBox],
        hasCentre: Bool = true
    ) throws -> (maps: InstanceMaps, truth: [UInt16]) {
        var truth = [UInt16](repeating: 0, count: width * height)
        for (index, box) in boxes.enumerated() {
            for y in box.y..<box.y + box.height {
                for x in box.x..<box.x + box.width { truth[y * width + x] = UInt16(index + 1) }
            }
        }
        var boundary = [Float](repeating: 0, count: truth.count)
        var centre = boundary
        for (index, box) in boxes.enumerated() {
            for y in box.y..<box.y + box.height {
                for x in box.x..<box.x + box.width where truth[y * width + x] == UInt16(index + 1) {
                    let depth = min(x - box.x, box.x + box.width - 1 - x, y - box.y, box.y + box.height - 1 - y)
                    if depth == 0 { boundary[y * width + x] = 1 }
                    centre[y * width + x] = Float(2 * depth + 1) / Float(min(box.width, box.height))
                }
            }
        }
        let foreground = truth.map { Float($0 > 0 ? 0.9 : 0.1) }
        let maps = try InstanceMaps(
            width: width,
            height: height,
            foreground: foreground,
            boundary: boundary,
            centre: hasCentre ? centre : nil
        )
        return (maps, truth)
    }

    /// Books without gaps between them, ten a row.
    private func shelf(_ count: Int) -> [PixelBox] {
        (0..<count).map { PixelBox(x: 5 + 9 * ($0 % 20), y: 4 + 34 * ($0 / 20), width: 9, height: 30) }
    }

    private func differing(_ labels: [UInt16], _ truth: [UInt16]) -> Int { zip(labels, truth).count { $0 != $1 } }

    private func changed(_ change: (inout InstanceSplitter.Rules) -> Void) -> InstanceSplitter.Rules {
        var rules = InstanceSplitter.Rules()
        change(&rules)
        return rules
    }

    private func split(_ maps: InstanceMaps, _ rules: InstanceSplitter.Rules = InstanceSplitter.Rules()) throws
        -> InstanceSplitter.Labels
    {
        try InstanceSplitter(rules: rules).split(maps, flag: CancellationFlag())
    }

    @Test("Without boundaries, what touches is one instance, and what does not is several")
    func noBoundary() throws {
        let boxes = [
            PixelBox(x: 2, y: 2, width: 20, height: 8), PixelBox(x: 22, y: 2, width: 10, height: 8),
            PixelBox(x: 2, y: 14, width: 30, height: 6),
        ]
        let (drawn, truth) = try maps(width: 40, height: 24, boxes: boxes, hasCentre: false)
        let maps = try InstanceMaps(
            width: 40,
            height: 24,
            foreground: drawn.foreground,
            boundary: [Float](repeating: 0, count: truth.count),
            centre: nil
        )
        let found = try split(maps)
        #expect(found.count == 2)
        #expect(found.labels.map { $0 > 0 } == truth.map { $0 > 0 })
        #expect([1, 2].map { label in found.labels.count { $0 == label } }.sorted() == [180, 240])
    }

    @Test("1, 2, 20 and 200 touching rectangles are found to the pixel", arguments: [1, 2, 20, 200], [true, false])
    func rectangles(_ count: Int, hasCentre: Bool) throws {
        let (maps, truth) = try maps(width: 190, height: 350, boxes: shelf(count), hasCentre: hasCentre)
        let found = try split(maps, changed { $0.seedThreshold = 0.6 })
        #expect(found.count == count && found.dropped == 0)
        #expect(found.labels == truth)
        #expect(found.confidences.allSatisfy { abs($0 - 0.9) < 1e-5 })
    }

    @Test("Of more than are asked for, the largest stay, and the rest is counted")
    func limit() throws {
        var boxes = shelf(12)
        boxes[7].height = 33
        boxes[3].height = 32
        let (maps, _) = try maps(width: 190, height: 60, boxes: boxes)
        let found = try split(maps, InstanceSplitter.Rules(maximumInstances: 2))
        #expect(found.count == 2 && found.dropped == 10)
        #expect(found.labels[20 * 190 + boxes[3].x + 4] == 1)
        #expect(found.labels[20 * 190 + boxes[7].x + 4] == 2)
    }

    @Test("Two seeds in one book are joined where nothing marks an edge, and kept apart where something does")
    func merging() throws {
        let (width, height) = (30, 60)
        func found(edge: Float) throws -> Int {
            var centre = [Float](repeating: 0.1, count: width * height)
            var boundary = [Float](repeating: 0.02, count: width * height)
            for y in 0..<height {
                for x in 0..<width where (10..<20).contains(x) {
                    if !(25..<35).contains(y) { centre[y * width + x] = 0.9 }
                    if (29...30).contains(y) { boundary[y * width + x] = edge }
                }
            }
            let foreground = (0..<width * height).map { (5..<25).contains($0 % width) ? Float(1) : 0 }
            let maps = try InstanceMaps(
                width: width,
                height: height,
                foreground: foreground,
                boundary: boundary,
                centre: centre
            )
            return try split(maps, changed { $0.mergeBoundary = 0.3 }).count
        }
        #expect(try found(edge: 0.02) == 1)
        #expect(try found(edge: 0.9) == 2)
    }

    @Test("A hole in one instance is filled, one between two is not")
    func holes() throws {
        let (width, height) = (40, 20)
        var foreground = [Float](repeating: 0, count: width * height)
        var centre = foreground
        var boundary = foreground
        for y in 2..<18 {
            for x in 2..<38 {
                foreground[y * width + x] = 1
                if (4..<16).contains(y), (4..<17).contains(x) || (23..<36).contains(x) { centre[y * width + x] = 1 }
                if x == 19 || x == 20 { boundary[y * width + x] = 1 }
            }
        }
        for place in [8 * width + 8, 9 * width + 8, 10 * width + 19, 10 * width + 20] { foreground[place] = 0 }
        let maps = try InstanceMaps(
            width: width,
            height: height,
            foreground: foreground,
            boundary: boundary,
            centre: centre
        )
        let found = try split(maps)
        #expect(found.count == 2)
        #expect(found.labels[8 * width + 8] == 1 && found.labels[9 * width + 8] == 1)
        #expect(found.labels[10 * width + 19] == 0 && found.labels[10 * width + 20] == 0)
    }

    @Test("Foreground without a seed is one instance, specks are none")
    func withoutSeed() throws {
        let (width, height) = (30, 30)
        var foreground = [Float](repeating: 0, count: width * height)
        for y in 5..<25 { for x in 10..<13 { foreground[y * width + x] = 0.7 } }
        foreground[2 * width + 2] = 1
        let zero = [Float](repeating: 0, count: width * height)
        let maps = try InstanceMaps(width: width, height: height, foreground: foreground, boundary: zero, centre: zero)
        let found = try split(maps, changed { $0.minimumArea = 10 })
        #expect(found.count == 1)
        #expect(found.labels.count { $0 == 1 } == 60)
    }

    @Test("A wall that looks like foreground in places is flooded from the background, up to the book's edge")
    func background() throws {
        let (width, height) = (60, 40)
        let book = PixelBox(x: 20, y: 10, width: 12, height: 24)
        let (maps, truth) = try maps(width: width, height: height, boxes: [book])
        var foreground = maps.foreground
        for y in 12..<30 { for x in 32..<44 { foreground[y * width + x] = 0.7 } }
        let ragged = try InstanceMaps(
            width: width,
            height: height,
            foreground: foreground,
            boundary: maps.boundary,
            centre: maps.centre
        )
        let rules = changed {
            $0.backgroundThreshold = 0.3
            $0.seedThreshold = 0.6
        }
        let found = try split(ragged, rules)
        #expect(found.count == 1)
        // The corners touch nothing but edges inside: the background has them first.
        #expect(differing(found.labels, truth) <= 4)
        let plain = try split(ragged, changed { $0.seedThreshold = 0.6 })
        #expect(differing(plain.labels, truth) > 100)
    }

    @Test("Maps that are all zero give none, all one gives one that is the picture")
    func flat() throws {
        let count = 50 * 30
        for (value, instances) in [(Float(0), 0), (1, 1), (-5, 0), (1e30, 1)] {
            let flat = [Float](repeating: value, count: count)
            for centre in [flat, nil] {
                let maps = try InstanceMaps(width: 50, height: 30, foreground: flat, boundary: flat, centre: centre)
                let found = try split(maps)
                #expect(found.count == instances)
                #expect(found.labels.allSatisfy { $0 == UInt16(instances) })
            }
        }
    }

    @Test("Noise is taken apart in bounded time, no instance beyond the limit, every one connected")
    func noise() throws {
        var random = SplitMix64(seed: 9)
        let (width, height) = (320, 240)
        func plane() -> [Float] { (0..<width * height).map { _ in Float.random(in: 0...1, using: &random) } }
        let maps = try InstanceMaps(
            width: width,
            height: height,
            foreground: plane(),
            boundary: plane(),
            centre: plane()
        )
        let rules = changed {
            $0.foregroundThreshold = 0.3
            $0.minimumSeedArea = 1
            $0.minimumArea = 1
            $0.mergeBoundary = 0
        }
        let found = try split(maps, rules)
        #expect(found.count == 200 && found.dropped > 0)
        for label in 1...found.count {
            #expect(pieces(of: UInt16(label), in: found) == 1)
        }
    }

    /// Connected pieces, the slow way.
    private func pieces(of label: UInt16, in found: InstanceSplitter.Labels) -> Int {
        var left = Set(found.labels.indices.filter { found.labels[$0] == label })
        var pieces = 0
        while let start = left.first {
            pieces += 1
            var stack = [start]
            left.remove(start)
            while let place = stack.popLast() {
                let x = place % found.width
                for (next, fits) in [
                    (place - 1, x > 0), (place + 1, x < found.width - 1), (place - found.width, true),
                    (place + found.width, true),
                ] where fits && left.remove(next) != nil { stack.append(next) }
            }
        }
        return pieces
    }

    @Test("What is no number, has no pixels or other sizes is refused")
    func hostile() {
        let good = [Float](repeating: 0.5, count: 12)
        for bad in [Float.nan, .infinity, -.infinity] {
            var map = good
            map[7] = bad
            #expect(throws: NetworkOutputError.self) {
                try InstanceMaps(width: 4, height: 3, foreground: map, boundary: good, centre: nil)
            }
            #expect(throws: NetworkOutputError.self) {
                try InstanceMaps(width: 4, height: 3, foreground: good, boundary: good, centre: map)
            }
        }
        for (width, height) in [(0, 3), (4, 0), (-4, -3), (3, 3), (Int.max, Int.max), (1 << 40, 1 << 40)] {
            #expect(throws: NetworkOutputError.self) {
                try InstanceMaps(width: width, height: height, foreground: good, boundary: good, centre: nil)
            }
        }
    }

    @Test("A raised flag stops the work")
    func cancelled() throws {
        let (maps, _) = try maps(width: 190, height: 60, boxes: shelf(3))
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) {
            try InstanceSplitter(rules: InstanceSplitter.Rules()).split(maps, flag: flag)
        }
    }

    // MARK: The reference

    struct Reference: Decodable {
        struct Rules: Decodable {
            let foregroundThreshold: Float
            let backgroundThreshold: Float
            let seedThreshold: Float
            let boundaryWeight: Float
            let minimumSeedArea: Int
            let minimumArea: Int
            let mergeBoundary: Float
            let minimumContact: Int
        }
        let width: Int
        let height: Int
        let instances: Int
        let rules: Rules
    }

    @Test("Noisy maps of a shelf come apart as SciPy and scikit-image take them apart")
    func reference() throws {
        let facts = try JSONDecoder().decode(Reference.self, from: Data(try Fixtures.bytes("Instances/splitting.json")))
        let bytes = try Fixtures.bytes("Instances/splitting.bin")
        let count = facts.width * facts.height
        #expect(bytes.count == 4 * count)
        func plane(_ index: Int) -> [Float] { bytes[index * count..<(index + 1) * count].map { Float($0) / 255 } }
        let maps = try InstanceMaps(
            width: facts.width,
            height: facts.height,
            foreground: plane(0),
            boundary: plane(1),
            centre: plane(2)
        )
        let rules = changed {
            $0.foregroundThreshold = facts.rules.foregroundThreshold
            $0.backgroundThreshold = facts.rules.backgroundThreshold
            $0.seedThreshold = facts.rules.seedThreshold
            $0.boundaryWeight = facts.rules.boundaryWeight
            $0.minimumSeedArea = facts.rules.minimumSeedArea
            $0.minimumArea = facts.rules.minimumArea
            $0.mergeBoundary = facts.rules.mergeBoundary
            $0.minimumContact = facts.rules.minimumContact
        }
        let found = try split(maps, rules)
        #expect(found.count == facts.instances)
        let expected = bytes[3 * count..<4 * count].map { UInt16($0) }
        let same = zip(found.labels, expected).count { $0 == $1 }
        // Where pixels of one height are reached at once, the two queues may take them in another order.
        #expect(Double(same) / Double(count) > 0.995, "\(count - same) of \(count) pixels differ")
        #expect(try split(maps, rules).labels == found.labels)
    }
}

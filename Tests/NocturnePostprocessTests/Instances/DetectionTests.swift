import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import Testing

@Suite("Networks that give instances directly")
struct DetectionTests {
    private let flag = CancellationFlag()

    @Test("Boxes that overlap a surer one of their class by more than the threshold go")
    func boxes() throws {
        // Intersections over union, worked by hand: 0 with 1 is 81/119 = 0.68, 0 with 2 is 50/150 = 0.33, 1 with 2 is
        // 54/146 = 0.37; 3 is far away and 4 is of another class.
        let boxes = [
            DetectionDecoder.Box(left: 0, top: 0, right: 10, bottom: 10),
            DetectionDecoder.Box(left: 1, top: 1, right: 11, bottom: 11),
            DetectionDecoder.Box(left: 5, top: 0, right: 15, bottom: 10),
            DetectionDecoder.Box(left: 50, top: 50, right: 60, bottom: 60),
            DetectionDecoder.Box(left: 0, top: 0, right: 10, bottom: 10),
        ]
        #expect(abs(boxes[0].intersectionOverUnion(boxes[1]) - 81.0 / 119) < 1e-6)
        #expect(abs(boxes[0].intersectionOverUnion(boxes[2]) - 50.0 / 150) < 1e-6)
        #expect(abs(boxes[1].intersectionOverUnion(boxes[2]) - 54.0 / 146) < 1e-6)
        let scores: [Float] = [0.9, 0.95, 0.8, 0.5, 0.7]
        let classes = [0, 0, 0, 0, 1]
        func kept(_ threshold: Float, _ limit: Int = 10) throws -> [Int] {
            let ranked = boxes.indices.sorted { scores[$0] > scores[$1] }
            return try DetectionDecoder.distinct(ranked, limit: limit, flag, kind: { classes[$0] }) {
                boxes[$0].intersectionOverUnion(boxes[$1]) > threshold
            }
        }
        #expect(try kept(0.5) == [1, 2, 4, 3])
        #expect(try kept(0.35) == [1, 4, 3])
        #expect(try kept(0.7) == [1, 0, 2, 4, 3])
        #expect(try kept(0.5, 2) == [1, 2])
        #expect(try kept(1) == [1, 0, 2, 4, 3])
    }

    @Test("Masks tell neighbours apart whose boxes are nearly one")
    func masks() throws {
        let whole = PixelBox(x: 0, y: 0, width: 40, height: 40)
        let frame = Letterbox(width: 40, height: 40, content: whole, inputWidth: 40, inputHeight: 40)
        var rules = DetectionDecoder.Rules()
        (rules.boxOverlap, rules.maskOverlap) = (1, 0.5)
        func plane(_ isInside: (_ x: Int, _ y: Int) -> Bool) -> [Float] {
            (0..<1600).map { isInside($0 % 40, $0 / 40) ? 1 : 0 }
        }
        let (upper, lower) = (plane { $0 > $1 + 2 }, plane { $0 < $1 - 2 })
        let (copy, empty) = (plane { $0 > $1 + 3 }, plane { _, _ in false })
        let kept = try DetectionDecoder(frame: frame, rules: rules).masks(
            boxes: [0, 0, 40, 40, 0, 0, 40, 40, 0, 0, 40, 40, 0, 0, 40, 40],
            scores: [0.6, 0.7, 0.9, 1],
            kinds: [0, 0, 0, 0],
            classes: 0..<1,
            planes: DetectionDecoder.Planes(copy + upper + lower + empty, count: 4, width: 40, height: 40),
            flag: flag
        )
        #expect(kept.map(\.confidence) == [0.9, 0.7])
        #expect(kept.last?.mask == RunLengthMask(width: 40, height: 40) { x, y in x > y + 2 })
    }

    private let frame = Letterbox(
        width: 200,
        height: 100,
        content: PixelBox(x: 0, y: 0, width: 64, height: 32),
        inputWidth: 64,
        inputHeight: 64
    )

    /// Candidates as YOLO gives them: one row a property.
    private func candidates(_ list: [[Float]]) -> [Float] {
        list.isEmpty ? [] : list[0].indices.flatMap { row in list.map { $0[row] } }
    }

    @Test("Prototypes and coefficients become masks on the photo, cut to their boxes")
    func prototypes() throws {
        // Two prototypes of 16×16 over the input of 64×64: left half, and everywhere.
        var planes = [Float](repeating: 0, count: 2 * 256)
        for place in 0..<256 {
            planes[place] = place % 16 < 8 ? 1 : -1
            planes[256 + place] = 1
        }
        // Middle x, middle y, width, height, two classes, two coefficients.
        let list: [[Float]] = [
            [16, 16, 24, 24, 0.9, 0.1, 8, 0], [17, 16, 24, 24, 0.8, 0.1, 8, 0], [48, 16, 24, 24, 0.2, 0.7, 0, 8],
            [48, 16, 8, 8, 0.1, 0.1, 0, 8], [48, 20, 10, .nan, 0.99, 0, 0, 8], [48, 20, 10, 10, .nan, 0, 0, 8],
            [10, 10, 4, 4, 0.95, 0, .infinity, 0],
        ]
        var rules = DetectionDecoder.Rules()
        rules.boxOverlap = 0.6
        let decoder = DetectionDecoder(frame: frame, rules: rules)
        let found = try decoder.prototypes(
            candidates: candidates(list),
            classes: 2,
            planes: DetectionDecoder.Planes(planes, count: 2, width: 16, height: 16),
            flag: flag
        )
        #expect(found.map(\.classIndex) == [0, 1])
        #expect(found.map(\.confidence) == [0.9, 0.7])
        // 4...28 of 64 are 12.5...87.5 of 200 pixels, and 4...28 of 32 are 12.5...87.5 of 100.
        #expect(found[0].mask.box == PixelBox(x: 12, y: 12, width: 76, height: 76))
        #expect(found[0].mask.area == 76 * 76)
        #expect(found[1].mask.box == PixelBox(x: 112, y: 12, width: 76, height: 76))
    }

    @Test("Where the photo lies in the middle of the input, boxes and masks lie where they were on the photo")
    func placement() throws {
        // The rows 16..<48 of the input are the photo's, and every row of the prototype is another value.
        let centred = Letterbox(
            width: 200,
            height: 100,
            content: PixelBox(x: 0, y: 16, width: 64, height: 32),
            inputWidth: 64,
            inputHeight: 64
        )
        let plane = (0..<256).map { Float($0 / 16 < 8 ? 1 : -1) }
        let found = try DetectionDecoder(frame: centred, rules: DetectionDecoder.Rules()).prototypes(
            candidates: candidates([[32, 32, 32, 32, 0.9, 8]]),
            classes: 1,
            planes: DetectionDecoder.Planes(plane, count: 1, width: 16, height: 16),
            flag: flag
        )
        // 16..<48 of 64 columns; the rows 16..<32 of the input are the upper half of the photo.
        #expect(found.map { $0.mask.box } == [PixelBox(x: 50, y: 0, width: 100, height: 50)])
        #expect(found.map { $0.mask.area } == [5000])
    }

    @Test("A mask plane covers its box, or the whole input where it has the input's size")
    func pasted() throws {
        let decoder = DetectionDecoder(frame: frame, rules: DetectionDecoder.Rules())
        // Left half of the box.
        let plane = (0..<28 * 28).map { Float($0 % 28 < 14 ? 1 : 0) }
        let found = try decoder.masks(
            boxes: [8, 8, 40, 24],
            scores: [0.8],
            kinds: [1],
            classes: 1..<2,
            planes: DetectionDecoder.Planes(plane, count: 1, width: 28, height: 28),
            flag: flag
        )
        #expect(found.count == 1)
        #expect(found.first?.mask.box == PixelBox(x: 25, y: 25, width: 50, height: 50))

        let whole = (0..<64 * 64).map { (place: Int) -> Float in
            (16..<32).contains(place % 64) && place / 64 < 32 ? 1 : 0
        }
        let pasted = try decoder.masks(
            boxes: [16, 0, 32, 32],
            scores: [0.8],
            kinds: [1],
            classes: 1..<2,
            planes: DetectionDecoder.Planes(whole, count: 1, width: 64, height: 64),
            flag: flag
        )
        #expect(pasted.first?.mask.box == PixelBox(x: 50, y: 0, width: 50, height: 100))
    }

    @Test("Unknown classes, low scores and nothing at all give nothing; wrong sizes and NaN in masks are refused")
    func hostile() throws {
        let decoder = DetectionDecoder(frame: frame, rules: DetectionDecoder.Rules())
        func masks(_ boxes: [Float], _ scores: [Float], _ kinds: [Float], _ planes: [Float]) throws -> Int {
            try decoder.masks(
                boxes: boxes,
                scores: scores,
                kinds: kinds,
                classes: 1..<2,
                planes: DetectionDecoder.Planes(planes, count: scores.count, width: 2, height: 2),
                flag: flag
            ).count
        }
        #expect(try masks([], [], [], []) == 0)
        let full: [Float] = [1, 1, 1, 1]
        #expect(try masks([0, 0, 30, 30], [0.9], [1], full) == 1)
        for kind: Float in [0, 2, -7, .nan, .infinity, 1e30] {
            #expect(try masks([0, 0, 30, 30], [0.9], [kind], full) == 0)
        }
        #expect(try masks([0, 0, 30, 30], [0.1], [1], full) == 0)
        #expect(try masks([30, 30, 0, 0], [0.9], [1], full) == 0)
        #expect(try masks([-1e30, -1e30, 1e30, 1e30], [0.9], [1], full) <= 1)
        #expect(throws: NetworkOutputError.self) { try masks([0, 0, 30, 30], [0.9], [1], [1, 1, 1, .nan]) }
        #expect(throws: NetworkOutputError.self) { try masks([0, 0, 30], [0.9], [1], full) }
        #expect(throws: NetworkOutputError.self) { try masks([0, 0, 30, 30], [0.9], [1], [1]) }
        #expect(throws: NetworkOutputError.self) {
            try decoder.prototypes(
                candidates: [1, 2, 3],
                classes: 1,
                planes: DetectionDecoder.Planes(full, count: 1, width: 2, height: 2),
                flag: flag
            )
        }
    }
}

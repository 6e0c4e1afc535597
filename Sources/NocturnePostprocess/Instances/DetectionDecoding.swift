import Glibc
import NocturneCore
public import NocturneSystem

extension DetectionDecoder {
    /// Planes of values for masks, such as prototypes or probabilities, as a network returns them.
    public struct Planes: Sendable {
        /// `[plane][y][x]`, x fastest.
        public let values: [Float]
        /// The number of planes.
        public let count: Int
        /// Columns of a plane.
        public let width: Int
        /// Rows of a plane.
        public let height: Int

        /// - Parameter values: of another number than the planes have voxels, they are refused where they are used.
        public init(_ values: [Float], count: Int, width: Int, height: Int) {
            self.values = values
            self.count = count
            self.width = width
            self.height = height
        }

        var area: Int { width * height }

        /// Whether there are as many values as the planes have.
        var isWhole: Bool { values.count == count * area }

        func plane(_ index: Int) -> Planes {
            Planes(Array(values[index * area..<(index + 1) * area]), count: 1, width: width, height: height)
        }
    }

    /// An instance returned directly by a network, on the picture's own grid.
    public struct Instance: Sendable {
        /// Its pixels in the upright picture.
        public let mask: RunLengthMask
        /// The score of the candidate, 0 to 1.
        public let confidence: Float
        /// Index from 0 among the package's classes.
        public let classIndex: Int

        /// - Parameters:
        ///   - mask: of the upright picture's size.
        ///   - confidence: from 0 to 1.
        ///   - classIndex: from 0.
        public init(mask: RunLengthMask, confidence: Float, classIndex: Int) {
            self.mask = mask
            self.confidence = confidence
            self.classIndex = classIndex
        }
    }
}

/// Converts the outputs of detection networks to masks.
///
/// A candidate with values that are not finite is ignored; masks and prototypes with such values cause an error. Only
/// the ``candidateLimit`` candidates with the highest scores are processed, which bounds the time.
public struct DetectionDecoder: Sendable {
    /// Where the picture was in the network's input.
    public let frame: Letterbox
    /// Which candidates are kept.
    public let rules: Rules

    static let candidateLimit = 3000

    /// - Parameter frame: with the input size for which the outputs were computed.
    public init(frame: Letterbox, rules: Rules) {
        self.frame = frame
        self.rules = rules
    }

    /// A network like YOLO-seg: candidates `[4 + classes + coefficients][candidates]` (centre x and y, width and height
    /// in pixels of the input, a probability for every class, coefficients), and prototypes
    /// `[coefficients][rows][columns]` whose weighted sums are the logits of masks over the whole input.
    /// - Throws: ``NetworkOutputError`` when the sizes do not match or prototypes are not finite; `CancelledError`.
    public func prototypes(
        candidates: [Float],
        classes: Int,
        planes: Planes,
        flag: CancellationFlag
    ) throws -> [Instance] {
        let rows = 4 + classes + planes.count
        guard classes > 0, planes.count > 0, candidates.count % rows == 0, planes.isWhole else {
            throw NetworkOutputError(
                detail: "\(candidates.count) values of candidates and \(planes.values.count) of prototypes "
                    + "do not match \(classes) classes and \(planes.count) prototypes of \(planes.width)×\(planes.height)"
            )
        }
        guard planes.values.allSatisfy(\.isFinite) else {
            throw NetworkOutputError(detail: "the prototypes hold values that are not numbers (NaN or infinite)")
        }
        let count = candidates.count / rows
        var found: [Candidate] = []
        for index in 0..<count {
            if index % 4096 == 0 { try flag.check() }
            // The highest score decides the class; on a tie, the lower one.
            var best = 0
            for kind in 1..<max(classes, 1)
            where candidates[(4 + kind) * count + index] > candidates[(4 + best) * count + index] { best = kind }
            let score = candidates[(4 + best) * count + index]
            let (x, y) = (candidates[index], candidates[count + index])
            let (w, h) = (candidates[2 * count + index] / 2, candidates[3 * count + index] / 2)
            let box = Box(left: x - w, top: y - h, right: x + w, bottom: y + h)
            found.append(Candidate(box: box, score: score, kind: best, index: index))
        }
        let (area, values) = (planes.area, planes.values)
        return try instances(found, flag: flag) { candidate, box in
            var logits = [Float](repeating: 0, count: area)
            for plane in 0..<planes.count {
                let weight = candidates[(4 + classes + plane) * count + candidate]
                guard weight.isFinite else { return nil }
                for place in 0..<area { logits[place] += weight * values[plane * area + place] }
            }
            return mask(
                of: Planes(logits, count: 1, width: planes.width, height: planes.height),
                over: wholeInput,
                // Logits instead of probabilities: the same border without an exponential.
                threshold: log(rules.maskThreshold / (1 - rules.maskThreshold)),
                clip: box
            )
        }
    }

    /// A network like Mask R-CNN: boxes `[n][4]` (left, top, right, bottom in pixels of the input), a score and a class
    /// for each (torchvision counts classes from 1), and a plane of probabilities for each, which covers
    /// the box, or the whole input if it has the input's size.
    /// - Throws: ``NetworkOutputError`` when the sizes do not match or a mask is not finite; `CancelledError`.
    public func masks(
        boxes: [Float],
        scores: [Float],
        kinds: [Float],
        classes: Range<Int>,
        planes: Planes,
        flag: CancellationFlag
    ) throws -> [Instance] {
        let count = scores.count
        guard boxes.count == 4 * count, kinds.count == count, planes.count == count, planes.isWhole else {
            throw NetworkOutputError(
                detail: "\(boxes.count) values of boxes, \(kinds.count) classes and \(planes.values.count) values "
                    + "of masks of \(planes.width)×\(planes.height) do not match \(count) scores"
            )
        }
        guard planes.values.allSatisfy(\.isFinite) else {
            throw NetworkOutputError(detail: "the masks hold values that are not numbers (NaN or infinite)")
        }
        var found: [Candidate] = []
        for index in 0..<count {
            // Classes are floats in these outputs; the bound keeps the conversion to an integer from trapping.
            let kind = kinds[index]
            guard kind.isFinite, abs(kind) < 1e6 else { continue }
            guard classes.contains(Int(kind.rounded())) else { continue }
            let box = Box(
                left: boxes[4 * index],
                top: boxes[4 * index + 1],
                right: boxes[4 * index + 2],
                bottom: boxes[4 * index + 3]
            )
            let number = Int(kind.rounded()) - classes.lowerBound
            found.append(Candidate(box: box, score: scores[index], kind: number, index: index))
        }
        let coversAll = planes.width == frame.inputWidth && planes.height == frame.inputHeight
        return try instances(found, flag: flag) { candidate, box in
            mask(
                of: planes.plane(candidate),
                over: coversAll ? wholeInput : box,
                threshold: rules.maskThreshold,
                clip: box
            )
        }
    }

    // MARK: Shared

    private var wholeInput: Box {
        Box(left: 0, top: 0, right: Float(frame.inputWidth), bottom: Float(frame.inputHeight))
    }

    /// What a network takes for an instance.
    private struct Candidate {
        let box: Box
        let score: Float
        /// Index from 0 among the package's classes.
        let kind: Int
        /// Among all that the network returned.
        let index: Int
    }

    /// Whether a candidate has numbers, an area, and the least score.
    private func counts(_ candidate: Candidate) -> Bool {
        let box = candidate.box
        return candidate.score >= rules.scoreThreshold && box.area > 0
            && [box.left, box.top, box.right, box.bottom, candidate.score].allSatisfy(\.isFinite)
    }

    private func instances(
        _ found: [Candidate],
        flag: CancellationFlag,
        mask: (Int, Box) -> RunLengthMask?
    ) throws(CancelledError) -> [Instance] {
        // The highest score first; on a tie, the earlier one.
        let ranked = found.filter(counts).sorted { ($1.score, $0.index) < ($0.score, $1.index) }
            .prefix(Self.candidateLimit)
        let kept = try Self.distinct(Array(ranked), limit: 2 * rules.maximumInstances, flag, kind: \.kind) {
            $0.box.intersectionOverUnion($1.box) > rules.boxOverlap
        }
        // Boxes first, since they are cheap; masks are made of twice the requested number, because the second suppression
        // removes some of them.
        var masked: [(instance: Instance, area: Int, box: PixelBox)] = []
        let smallest = Double(rules.minimumArea) * frame.scaleX * frame.scaleY
        for candidate in kept {
            try flag.check()
            guard let mask = mask(candidate.index, candidate.box), let box = mask.box, Double(mask.area) >= smallest
            else { continue }
            let confidence = min(max(candidate.score, 0), 1)
            let instance = Instance(mask: mask, confidence: confidence, classIndex: candidate.kind)
            masked.append((instance, mask.area, box))
        }
        // By masks, tilted neighbours are separated whose boxes are nearly equal.
        return try Self.distinct(masked, limit: rules.maximumInstances, flag, kind: \.instance.classIndex) { a, b in
            guard a.box.x < b.box.x + b.box.width, b.box.x < a.box.x + a.box.width,
                a.box.y < b.box.y + b.box.height, b.box.y < a.box.y + a.box.height
            else { return false }
            let shared = a.instance.mask.overlap(with: b.instance.mask)
            return Double(shared) > Double(rules.maskOverlap) * Double(a.area + b.area - shared)
        }.map(\.instance)
    }

    private func mask(
        of plane: Planes,
        over area: Box,
        threshold: Float,
        clip: Box
    ) -> RunLengthMask {
        RunLengthMask.mask(
            of: plane,
            over: (frame.column(area.left), frame.row(area.top), frame.column(area.right), frame.row(area.bottom)),
            threshold: threshold,
            clip: frame.box(clip),
            picture: (frame.width, frame.height)
        )
    }
}

import NocturneCore
public import NocturneSystem

extension DetectionDecoder {
    /// Keeps, of several candidates for the same object, only the one with the highest score.
    public enum NonMaximumSuppression {
        /// The boxes that are kept, highest score first; on a tie, the earlier one.
        ///
        /// A box is removed when its intersection over union with a higher-scored one of its class is above `threshold`.
        /// The time is at worst quadratic in the number of candidates, otherwise proportional to kept boxes times all
        /// boxes.
        /// - Throws: `CancelledError`.
        public static func boxes(
            _ boxes: [Box],
            scores: [Float],
            classes: [Int],
            threshold: Float,
            limit: Int,
            flag: CancellationFlag
        ) throws(CancelledError) -> [Int] {
            precondition(boxes.count == scores.count && boxes.count == classes.count, "one score and class a box")
            return try kept(scores, classes, limit: limit, flag) {
                boxes[$0].intersectionOverUnion(boxes[$1]) > threshold
            }
        }

        /// The same with the masks themselves, which separates tilted neighbours whose boxes are nearly equal.
        /// - Throws: `CancelledError`.
        public static func masks(
            _ masks: [RunLengthMask],
            scores: [Float],
            classes: [Int],
            threshold: Float,
            limit: Int,
            flag: CancellationFlag
        ) throws(CancelledError) -> [Int] {
            precondition(masks.count == scores.count && masks.count == classes.count, "one score and class a mask")
            let areas = masks.map(\.area)
            let boxes = masks.map(\.box)
            return try kept(scores, classes, limit: limit, flag, isCandidate: { areas[$0] > 0 }) { other, index in
                guard let a = boxes[other], let b = boxes[index],
                    a.x < b.x + b.width, b.x < a.x + a.width, a.y < b.y + b.height, b.y < a.y + a.height
                else { return false }
                let shared = masks[other].overlap(with: masks[index])
                return Double(shared) > Double(threshold) * Double(areas[other] + areas[index] - shared)
            }
        }

        /// The candidates, highest score first, that are not the same object as an earlier one of their class.
        private static func kept(
            _ scores: [Float],
            _ classes: [Int],
            limit: Int,
            _ flag: CancellationFlag,
            isCandidate: (Int) -> Bool = { _ in true },
            areSame: (Int, Int) -> Bool
        ) throws(CancelledError) -> [Int] {
            var kept: [Int] = []
            let ranked = scores.indices.sorted { (scores[$1], $0) < (scores[$0], $1) }
            for index in ranked where kept.count < limit && isCandidate(index) {
                try flag.check()
                if !kept.contains(where: { classes[$0] == classes[index] && areSame($0, index) }) { kept.append(index) }
            }
            return kept
        }
    }

    /// A box of any position and size: upper left and lower right corner.
    public struct Box: Hashable, Sendable {
        /// The left edge, in pixels.
        public var left: Float
        /// The upper edge, in pixels from the top.
        public var top: Float
        /// The right edge; less than ``left`` for a reversed box.
        public var right: Float
        /// The lower edge; less than ``top`` for a reversed box.
        public var bottom: Float

        /// Edges in pixels, which may lie outside of a picture.
        public init(left: Float, top: Float, right: Float, bottom: Float) {
            self.left = left
            self.top = top
            self.right = right
            self.bottom = bottom
        }

        /// 0 for a box with reversed sides.
        public var area: Float { max(right - left, 0) * max(bottom - top, 0) }

        /// The shared area over that of both together, 0 to 1; 0 for two boxes without an area.
        public func intersectionOverUnion(_ other: Box) -> Float {
            let shared = Box(
                left: max(left, other.left),
                top: max(top, other.top),
                right: min(right, other.right),
                bottom: min(bottom, other.bottom)
            ).area
            let union = area + other.area - shared
            return union > 0 ? shared / union : 0
        }
    }
}

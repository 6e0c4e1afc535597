package import NocturneSystem

extension DetectionDecoder {
    /// Of each object and class the first in a ranked list.
    ///
    /// The time is at worst quadratic in the number of elements, otherwise proportional to kept elements times all elements.
    /// - Throws: `CancelledError`.
    package static func distinct<Element>(
        _ ranked: [Element],
        limit: Int,
        _ flag: CancellationFlag,
        kind: (Element) -> Int,
        areSame: (Element, Element) -> Bool
    ) throws(CancelledError) -> [Element] {
        var kept: [Element] = []
        for element in ranked where kept.count < limit {
            try flag.check()
            if !kept.contains(where: { kind($0) == kind(element) && areSame($0, element) }) { kept.append(element) }
        }
        return kept
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

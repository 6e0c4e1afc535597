public import NocturneCore

/// The mapping from the picture to the network's input: scaled into its upper left part, the rest is padding.
public struct Letterbox: Hashable, Sendable {
    /// The upright picture.
    public let width: Int
    /// The upright picture, in pixels.
    public let height: Int
    /// The part of the network's input that contains the picture.
    public let content: PixelBox
    /// The size of the network's input.
    public let inputWidth: Int
    /// The size of the network's input, in pixels.
    public let inputHeight: Int

    /// - Parameter content: not empty, within the input.
    public init(width: Int, height: Int, content: PixelBox, inputWidth: Int, inputHeight: Int) {
        self.width = width
        self.height = height
        self.content = content
        self.inputWidth = inputWidth
        self.inputHeight = inputHeight
    }

    /// Pixels of the picture per pixel of the input.
    var scaleX: Double { Double(width) / Double(content.width) }
    var scaleY: Double { Double(height) / Double(content.height) }

    /// Where a column of the input lies in the picture; edges of pixels are whole numbers in both.
    func column(_ x: Float) -> Double { (Double(x) - Double(content.x)) * scaleX }
    func row(_ y: Float) -> Double { (Double(y) - Double(content.y)) * scaleY }

    /// The whole pixels of the picture that overlap a box of the input.
    func box(_ box: DetectionDecoder.Box) -> PixelBox {
        func held(_ value: Double, _ limit: Int) -> Int { Int(min(max(value, 0), Double(limit))) }
        let left = held(column(box.left).rounded(.down), width)
        let top = held(row(box.top).rounded(.down), height)
        let right = held(column(box.right).rounded(.up), width)
        let bottom = held(row(box.bottom).rounded(.up), height)
        return PixelBox(x: left, y: top, width: max(right - left, 0), height: max(bottom - top, 0))
    }
}

extension DetectionDecoder {
    /// Thresholds for networks that return instances directly.
    public struct Rules: Hashable, Sendable {
        /// Candidates with a lower score are ignored.
        public var scoreThreshold: Float = 0.25
        /// Intersection over union above which two boxes count as the same object.
        public var boxOverlap: Float = 0.7
        /// The same for masks.
        public var maskOverlap: Float = 0.7
        /// Threshold of a mask's probability.
        public var maskThreshold: Float = 0.5
        /// Candidates beyond this number are dropped, those with the lowest scores first.
        public var maximumInstances: Int
        /// Smaller masks, in pixels of the network's input, are discarded.
        public var minimumArea = 16

        /// The values of a package take the place of the defaults.
        public init(maximumInstances: Int = 200) { self.maximumInstances = maximumInstances }
    }
}

/// The mapping from the picture to the network's input: scaled into its upper left part, the rest is padding.
public struct Letterbox: Hashable, Sendable {
    /// The upright picture.
    public let width: Int
    public let height: Int
    /// The size of the part of the network's input that contains the picture.
    public let contentWidth: Int
    public let contentHeight: Int
    /// The size of the network's input.
    public let inputWidth: Int
    public let inputHeight: Int

    public init(width: Int, height: Int, contentWidth: Int, contentHeight: Int, inputWidth: Int, inputHeight: Int) {
        self.width = width
        self.height = height
        self.contentWidth = contentWidth
        self.contentHeight = contentHeight
        self.inputWidth = inputWidth
        self.inputHeight = inputHeight
    }

    /// Pixels of the picture per pixel of the input.
    public var scaleX: Double { Double(width) / Double(contentWidth) }
    public var scaleY: Double { Double(height) / Double(contentHeight) }

    /// The whole pixels of the picture that overlap a box of the input.
    func box(_ box: FloatBox) -> PixelBox {
        func held(_ value: Double, _ limit: Int) -> Int { Int(min(max(value, 0), Double(limit))) }
        let left = held((Double(box.left) * scaleX).rounded(.down), width)
        let top = held((Double(box.top) * scaleY).rounded(.down), height)
        let right = held((Double(box.right) * scaleX).rounded(.up), width)
        let bottom = held((Double(box.bottom) * scaleY).rounded(.up), height)
        return PixelBox(x: left, y: top, width: max(right - left, 0), height: max(bottom - top, 0))
    }
}

/// Thresholds for networks that return instances directly.
public struct DetectionRules: Hashable, Sendable {
    /// Candidates with a lower score are ignored.
    public var scoreThreshold: Float
    /// Intersection over union above which two boxes count as the same object.
    public var boxOverlap: Float
    /// The same for masks.
    public var maskOverlap: Float
    /// Threshold of a mask's probability.
    public var maskThreshold: Float
    public var maximumInstances: Int
    /// Smaller masks, in pixels of the network's input, are discarded.
    public var minimumArea: Int

    public init(
        scoreThreshold: Float = 0.25,
        boxOverlap: Float = 0.7,
        maskOverlap: Float = 0.7,
        maskThreshold: Float = 0.5,
        maximumInstances: Int = 200,
        minimumArea: Int = 16
    ) {
        self.scoreThreshold = scoreThreshold
        self.boxOverlap = boxOverlap
        self.maskOverlap = maskOverlap
        self.maskThreshold = maskThreshold
        self.maximumInstances = maximumInstances
        self.minimumArea = minimumArea
    }
}

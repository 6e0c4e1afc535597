/// An sRGB colour with components in 0…1.
public struct PDFColor: Hashable, Sendable {
    public let red: Double
    public let green: Double
    public let blue: Double

    public init(red: Double, green: Double, blue: Double) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    public init(gray: Double) { self.init(red: gray, green: gray, blue: gray) }
}

/// A rectangle of a page, in points (1/72 inch) from its upper left corner.
public struct PDFRectangle: Hashable, Sendable {
    public var x: Double
    public var y: Double
    public var width: Double
    public var height: Double

    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

extension PDFPage {
    /// An sRGB colour with components in 0…1.
    public struct Color: Hashable, Sendable {
        /// 0 to 1.
        public let red: Double
        /// 0 to 1.
        public let green: Double
        /// 0 to 1.
        public let blue: Double

        /// - Parameters:
        ///   - red: 0 to 1.
        ///   - green: 0 to 1.
        ///   - blue: 0 to 1.
        public init(red: Double, green: Double, blue: Double) {
            self.red = red
            self.green = green
            self.blue = blue
        }

        /// - Parameter gray: 0 for black, 1 for white.
        public init(gray: Double) { self.init(red: gray, green: gray, blue: gray) }
    }

    /// A rectangle of a page, in points (1/72 inch) from its upper left corner.
    public struct Rectangle: Hashable, Sendable {
        /// The left edge.
        public var x: Double
        /// The upper edge.
        public var y: Double
        /// The extent to the right.
        public var width: Double
        /// The extent downwards.
        public var height: Double

        /// - Parameters:
        ///   - x: the left edge.
        ///   - y: the upper edge.
        ///   - width: to the right.
        ///   - height: downwards.
        public init(x: Double, y: Double, width: Double, height: Double) {
            (self.x, self.y, self.width, self.height) = (x, y, width, height)
        }
    }

    /// A part of the structure of a tagged PDF: what screen readers announce and read in order.
    public enum Element: Hashable, Sendable {
        /// Parts that belong together.
        case section
        /// 1 is the title of the document.
        case heading(level: Int)
        case paragraph
        case list
        case listItem
        /// A picture with the text that is read in its place.
        case figure(alternative: String)

        /// Its standard structure type (ISO 32000-1, 14.8.4).
        var structureType: String {
            switch self {
            case .section: "Sect"
            case .heading(let level): "H\(min(max(level, 1), 6))"
            case .paragraph: "P"
            case .list: "L"
            case .listItem: "LI"
            case .figure: "Figure"
            }
        }
    }
}

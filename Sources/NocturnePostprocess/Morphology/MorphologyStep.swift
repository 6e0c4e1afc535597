/// An operation on some labels of a map, with its size.
public struct MorphologyStep: Hashable, Sendable, Codable {
    /// An operation on the shape of labels.
    ///
    /// A voxel is in the ball around another one if their centres are at most the radius apart in mm, along axes that count as
    /// perpendicular. What lies outside the volume is unknown: it neither adds to a label nor takes from it.
    public enum Operation: String, Hashable, Sendable, Codable, CaseIterable {
        /// Erosion, then dilation of what remains: removes what is thinner than the ball, and adds nothing.
        case open
        /// Dilation, then erosion: fills the background that is narrower than the ball, and removes nothing.
        case close
        /// Adds the background in the balls around the label's voxels.
        case dilate
        /// Removes the voxels whose balls hold a voxel that does not have the label.
        case erode
        /// Gives each voxel the label, or the background, with the largest share around it, weighted by a Gaussian function.
        case smooth
    }

    /// What is done.
    public var operation: Operation
    /// Label 0, the background, is ignored.
    public var labels: [UInt16]
    /// mm, above 0: the radius of the ball, or the standard deviation of the Gaussian function of
    /// ``Operation/smooth``.
    public var millimetres: Double

    /// - Parameter millimetres: above 0.
    public init(_ operation: Operation, labels: [UInt16], millimetres: Double) {
        self.operation = operation
        self.labels = labels
        self.millimetres = millimetres
    }

    /// The labels ascending, without repetition and background.
    var values: [UInt16] { Set(labels).subtracting([0]).sorted() }
}

extension MorphologyStep {
    /// How many voxels operations on its shape have added to a label and removed from it.
    public struct Change: Hashable, Sendable, Codable {
        /// Voxels that have the label only since.
        public var voxelsAdded: Int
        /// Voxels that had the label before.
        public var voxelsRemoved: Int

        /// By default no change.
        public init(voxelsAdded: Int = 0, voxelsRemoved: Int = 0) {
            self.voxelsAdded = voxelsAdded
            self.voxelsRemoved = voxelsRemoved
        }

        static func += (sum: inout Change, other: Change) {
            sum.voxelsAdded += other.voxelsAdded
            sum.voxelsRemoved += other.voxelsRemoved
        }
    }
}

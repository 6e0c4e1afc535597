/// The postprocessing that a model package requests for its label maps. Rules for label 0, the background, are ignored.
public struct PostprocessRules: Hashable, Sendable, Codable {
    /// Operations on the shape of labels, in this order, before all other rules.
    public var morphology: [MorphologyStep]
    /// Groups of labels, applied in this order. The labels of a group form one mask: only the largest of its
    /// components, determined regardless of the labels in them, is kept, and on a tie all of that size. So `[[1], [2]]`
    /// keeps one component of each label, and `[[1, 2]]` one component of both together.
    public var keepLargest: [[UInt16]]
    /// Labels whose cavities are filled.
    ///
    /// A cavity is a component of background voxels connected through faces that does not reach the border of the
    /// volume and whose face neighbours all have that one label. A cavity that borders on other labels too, or that
    /// contains another label, stays unchanged: no label is ever overwritten. In a volume one voxel thin every voxel is
    /// at the border, and nothing is filled, unless ``isPlane`` is set.
    public var fillHoles: [UInt16]
    /// Labels of which components below this volume in mm³ are removed. A component of exactly the minimum stays.
    public var minimumVolumeMm3: [UInt16: Double]
    /// The neighbourhood that defines a component. nnU-Net's own postprocessing uses ``Connectivity/corners``.
    public var connectivity: Connectivity
    /// Whether the labels are those of a picture: in a map of one slice, cavities are what is enclosed within the slice.
    public var isPlane = false

    /// Without arguments, rules that change nothing.
    public init(
        keepLargest: [[UInt16]] = [],
        fillHoles: [UInt16] = [],
        minimumVolumeMm3: [UInt16: Double] = [:],
        connectivity: Connectivity = .faces,
        morphology: [MorphologyStep] = []
    ) {
        self.morphology = morphology
        self.keepLargest = keepLargest
        self.fillHoles = fillHoles
        self.minimumVolumeMm3 = minimumVolumeMm3
        self.connectivity = connectivity
    }

    /// Whether no rule concerns a label other than the background.
    public var isEmpty: Bool { labels.isEmpty }

    /// The labels that any rule names, ascending, without repetition.
    public var labels: [UInt16] {
        Set(keepLargest.joined()).union(fillHoles).union(minimumVolumeMm3.keys).union(morphology.flatMap(\.labels))
            .subtracting([0]).sorted()
    }

    /// The rules about components. Those of labels that only ``morphology`` names are counted.
    var ofComponents: PostprocessRules {
        var rules = self
        rules.morphology = []
        for label in morphology.flatMap(\.labels) where label != 0 && rules.minimumVolumeMm3[label] == nil {
            rules.minimumVolumeMm3[label] = 0
        }
        return rules
    }
}

/// What cleaning did to one label.
///
/// A component here belongs to this label alone, also where a rule treats several labels together: it is then removed
/// or kept as a whole, with the component of the joint mask that contains it.
public struct LabelCleaning: Hashable, Sendable, Codable {
    /// The label. It is not encoded: results state what was done to a label in the entry of that label.
    public var value: UInt16 = 0
    /// Components after ``morphology``, before anything else was removed.
    public var componentsFound: Int
    /// Components that were too small, or not the largest.
    public var componentsRemoved: Int
    /// The voxels of these components, which are background now.
    public var voxelsRemoved: Int
    /// The voxels of enclosed components of background that became the label.
    public var voxelsFilled = 0
    /// The sums of all operations on the label's shape; nil when there are none. A voxel that one operation adds and another one
    /// removes counts in both.
    public var morphology: MorphologyStep.Change?

    private enum CodingKeys: CodingKey {
        case componentsFound, componentsRemoved, voxelsRemoved, voxelsFilled, morphology
    }

    /// By default nothing was changed.
    public init(
        value: UInt16,
        componentsFound: Int = 0,
        componentsRemoved: Int = 0,
        voxelsRemoved: Int = 0,
        morphology: MorphologyStep.Change? = nil
    ) {
        self.value = value
        self.componentsFound = componentsFound
        self.componentsRemoved = componentsRemoved
        self.voxelsRemoved = voxelsRemoved
        self.morphology = morphology
    }
}

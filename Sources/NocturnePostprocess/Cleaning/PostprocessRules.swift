/// What a model package asks to be cleaned in its label maps. Rules for label 0, the background, are passed over.
public struct PostprocessRules: Hashable, Sendable, Codable {
    /// Groups of labels, followed in this order. The labels of a group are one mask: of its components, found
    /// whatever the labels in them are, only the largest is kept, and on a tie all that are as large. So `[[1], [2]]`
    /// keeps one component of each label, and `[[1, 2]]` one component of both together.
    public var keepLargest: [[UInt16]]
    /// Labels whose cavities are filled.
    public var fillHoles: [UInt16]
    /// Labels of which components below so many mm³ are removed.
    public var minimumVolumeMm3: [UInt16: Double]
    /// What counts as one component. nnU-Net's own postprocessing takes ``Connectivity/corners``.
    public var connectivity: Connectivity

    public init(
        keepLargest: [[UInt16]] = [],
        fillHoles: [UInt16] = [],
        minimumVolumeMm3: [UInt16: Double] = [:],
        connectivity: Connectivity = .faces
    ) {
        self.keepLargest = keepLargest
        self.fillHoles = fillHoles
        self.minimumVolumeMm3 = minimumVolumeMm3
        self.connectivity = connectivity
    }

    public var isEmpty: Bool { labels.isEmpty }

    /// The labels that any rule names, ascending, each once.
    public var labels: [UInt16] {
        Set(keepLargest.joined()).union(fillHoles).union(minimumVolumeMm3.keys).subtracting([0]).sorted()
    }
}

/// What cleaning did to one label.
///
/// A component here is one of this label alone, also where a rule looks at several labels together: it then goes or
/// stays whole, with the component of the joint mask that it lies in.
public struct LabelCleaning: Hashable, Sendable, Codable {
    public var value: UInt16
    /// Components before anything was removed.
    public var componentsFound: Int
    public var componentsRemoved: Int
    public var voxelsRemoved: Int
    public var cavitiesFilled: Int
    public var voxelsFilled: Int

    public init(
        value: UInt16,
        componentsFound: Int = 0,
        componentsRemoved: Int = 0,
        voxelsRemoved: Int = 0,
        cavitiesFilled: Int = 0,
        voxelsFilled: Int = 0
    ) {
        self.value = value
        self.componentsFound = componentsFound
        self.componentsRemoved = componentsRemoved
        self.voxelsRemoved = voxelsRemoved
        self.cavitiesFilled = cavitiesFilled
        self.voxelsFilled = voxelsFilled
    }

    public var changedAnything: Bool { voxelsRemoved > 0 || voxelsFilled > 0 }
}

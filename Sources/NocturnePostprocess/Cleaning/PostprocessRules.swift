/// The postprocessing that a model package requests for its label maps. Rules for label 0, the background, are ignored.
public struct PostprocessRules: Hashable, Sendable, Codable {
    /// Groups of labels, applied in this order. The labels of a group form one mask: only the largest of its
    /// components, determined regardless of the labels in them, is kept, and on a tie all of that size. So `[[1], [2]]`
    /// keeps one component of each label, and `[[1, 2]]` one component of both together.
    public var keepLargest: [[UInt16]]
    /// Labels whose cavities are filled.
    public var fillHoles: [UInt16]
    /// Labels of which components below this volume in mm³ are removed.
    public var minimumVolumeMm3: [UInt16: Double]
    /// The neighbourhood that defines a component. nnU-Net's own postprocessing uses ``Connectivity/corners``.
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

    /// The labels that any rule names, ascending, without repetition.
    public var labels: [UInt16] {
        Set(keepLargest.joined()).union(fillHoles).union(minimumVolumeMm3.keys).subtracting([0]).sorted()
    }
}

/// What cleaning did to one label.
///
/// A component here belongs to this label alone, also where a rule treats several labels together: it is then removed
/// or kept as a whole, with the component of the joint mask that contains it.
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

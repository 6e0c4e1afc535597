/// What a model package asks to be cleaned in its label maps. Rules for label 0, the background, are passed over.
public struct PostprocessRules: Hashable, Sendable, Codable {
    /// Labels of which only the largest component is kept.
    public var keepLargest: [UInt16]
    /// Labels whose cavities are filled.
    public var fillHoles: [UInt16]
    /// Labels of which components below so many mm³ are removed.
    public var minimumVolumeMm3: [UInt16: Double]
    /// What counts as one component.
    public var connectivity: Connectivity

    public init(
        keepLargest: [UInt16] = [],
        fillHoles: [UInt16] = [],
        minimumVolumeMm3: [UInt16: Double] = [:],
        connectivity: Connectivity = .faces
    ) {
        self.keepLargest = keepLargest
        self.fillHoles = fillHoles
        self.minimumVolumeMm3 = minimumVolumeMm3
        self.connectivity = connectivity
    }

    public var isEmpty: Bool { keepLargest.isEmpty && fillHoles.isEmpty && minimumVolumeMm3.isEmpty }

    /// The labels that any rule names, ascending, each once.
    public var labels: [UInt16] {
        Set(keepLargest).union(fillHoles).union(minimumVolumeMm3.keys).subtracting([0]).sorted()
    }
}

/// What cleaning did to one label.
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

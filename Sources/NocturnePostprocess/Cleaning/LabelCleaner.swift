public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// Cleans label maps in place: shapes, small components, all but the largest component, cavities.
///
/// Time and extra memory are those of ``ConnectedComponents``, twice when cavities are filled or a group of labels is
/// processed together. The result does not depend on the number of threads.
public enum LabelCleaner {
    /// Applies the rules in this order: morphology, minimum volume, keep largest, fill holes.
    ///
    /// The steps of ``PostprocessRules/morphology`` are applied one after another. Labels that are not named in a step never
    /// change: labels grow into background only, and voxels that a label loses become background. In a step that dilates several
    /// labels, the nearer one takes a voxel, the lower value at equal distances; in one that closes several, the lower value; in
    /// one that smooths several, that with the largest share, or background if the share of all else is larger.
    ///
    /// Therefore the largest component is removed too when it is below the minimum. The groups of
    /// ``PostprocessRules/keepLargest`` are applied one after another, each to the result of the previous ones. Removed
    /// voxels become background before cavities are searched: a small component inside a cavity is filled after its
    /// removal.
    ///
    /// With only groups and ``Connectivity/corners`` this is nnU-Net's
    /// `remove_all_but_largest_component_from_segmentation`, applied in the order of its list.
    /// - Parameters:
    ///   - labels: `geometry.shape.count` labels, i fastest; changed in place.
    ///   - geometry: gives the volume of a voxel.
    ///   - bytes: a limit for the memory of the rules about components, which never changes the result. When all of them
    ///     together would need more, each is applied separately for each label or group. That is slower by one read of the
    ///     voxels for each, and needs the memory of the largest of them. What ``PostprocessRules/morphology`` needs is
    ///     predicted by ``morphologyBytes(of:shape:threads:)``. Nil for no limit.
    /// - Returns: what was done, one element for every label that the rules name except 0, ascending.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised, and `AllocationError`; the labels may then be partly
    ///   cleaned.
    public static func apply(
        _ rules: PostprocessRules,
        to labels: inout VoxelBuffer<UInt16>,
        geometry: VolumeGeometry,
        within bytes: Int? = nil,
        scope: ComputeScope
    ) throws -> [LabelCleaning] {
        let changes = try changeShapes(rules.morphology, in: &labels, geometry, scope)
        let rules = rules.ofComponents
        let needed = bytes == nil ? 0 : try workingBytes(of: rules, for: labels, shape: geometry.shape, scope: scope)
        var report =
            needed <= bytes ?? needed
            ? try applyToComponents(rules, to: &labels, geometry: geometry, scope: scope)
            : try applySingly(rules, to: &labels, geometry, scope)
        for index in report.indices { report[index].morphology = changes[report[index].value] }
        return report
    }

    /// Applies the steps one after another; the sums of what they change, by label.
    static func changeShapes(
        _ steps: [MorphologyStep],
        in labels: inout VoxelBuffer<UInt16>,
        _ geometry: VolumeGeometry,
        _ scope: ComputeScope
    ) throws -> [UInt16: MorphologyStep.Change] {
        precondition(labels.count == geometry.shape.count, "voxels do not fill the shape")
        var changes: [UInt16: MorphologyStep.Change] = [:]
        let morphology = LabelMorphology(geometry: geometry, scope: scope)
        for step in steps {
            for (value, change) in try morphology.apply(step, to: &labels) {
                changes[value, default: MorphologyStep.Change()] += change
            }
        }
        return changes
    }

    /// All rules but those of ``PostprocessRules/morphology``.
    static func applyToComponents(
        _ rules: PostprocessRules,
        to labels: inout VoxelBuffer<UInt16>,
        geometry: VolumeGeometry,
        scope: ComputeScope
    ) throws(CancelledError) -> [LabelCleaning] {
        precondition(labels.count == geometry.shape.count, "voxels do not fill the shape")
        let named = rules.labels
        guard !named.isEmpty else { return [] }
        var report = named.map { LabelCleaning(value: $0) }
        let place = Dictionary(uniqueKeysWithValues: named.enumerated().map { ($1, $0) })

        let found = try labels.withUnsafeBufferPointer { voxels throws(CancelledError) in
            let all = VoxelBox(all: geometry.shape)
            return try ConnectedComponents(voxels, geometry.shape, all, .labels(named), rules.connectivity, scope)
        }
        // One search serves all rules: removing components creates no new ones, so later rules only change the flags.
        var kept = largeEnough(found.components, rules, voxelVolume: geometry.voxelVolume)
        for group in rules.keepLargest {
            try keepLargest(Set(group).subtracting([0]), &kept, of: found, rules.connectivity, scope)
        }
        for (index, component) in found.components.enumerated() {
            guard let entry = place[component.value] else { continue }
            report[entry].componentsFound += 1
            if !kept[index] {
                report[entry].componentsRemoved += 1
                report[entry].voxelsRemoved += component.voxelCount
            }
        }
        try scope.check()
        if kept.contains(false) {
            labels.withUnsafeMutableBufferPointer { labels in
                found.forEachRun { component, voxels, _, _ in
                    if !kept[component] { labels[voxels].update(repeating: 0) }
                }
            }
        }
        try scope.check()

        // Last, on the cleaned map: a removed component may open a cavity, or leave one.
        let fillable = Set(rules.fillHoles).subtracting([0])
        if !fillable.isEmpty, let box = box(of: fillable, in: found, kept: kept) {
            let filled = try fillCavities(
                fillable,
                in: box,
                of: &labels,
                shape: geometry.shape,
                isPlane: rules.isPlane && geometry.shape.z == 1,
                scope: scope
            )
            for (value, voxels) in filled {
                guard let entry = place[value] else { continue }
                report[entry].voxelsFilled = voxels
            }
        }
        return report
    }

    /// The components that are not below the minimum volume of their label.
    private static func largeEnough(
        _ components: [ConnectedComponents.Component],
        _ rules: PostprocessRules,
        voxelVolume: Double
    ) -> [Bool] {
        // A small tolerance, so that ten voxels of 0.1 mm³ are not below 1 mm³.
        let slack = 1 - 1e-9
        return components.map { component in
            guard let minimum = rules.minimumVolumeMm3[component.value] else { return true }
            return !(Double(component.voxelCount) * voxelVolume < minimum * slack)
        }
    }

    /// Clears the components that lie in the smaller components of the joint mask of several labels.
    private static func keepLargest(
        _ group: Set<UInt16>,
        _ kept: inout [Bool],
        of found: ConnectedComponents,
        _ connectivity: Connectivity,
        _ scope: ComputeScope
    ) throws(CancelledError) {
        let isMember = found.components.indices.map { kept[$0] && group.contains(found.components[$0].value) }
        try scope.check()
        if group.count > 1 {
            try found.keepLargest(of: isMember, &kept, connectivity: connectivity, scope: scope)
        } else {
            // With only one label, its components are those of the mask.
            var largest = 0
            for (component, isMember) in zip(found.components, isMember) where isMember {
                largest = max(largest, component.voxelCount)
            }
            for index in kept.indices where isMember[index] && found.components[index].voxelCount < largest {
                kept[index] = false
            }
        }
    }

    /// The bounding box of the remaining voxels of some labels; nil when there are none.
    private static func box(of values: Set<UInt16>, in found: ConnectedComponents, kept: [Bool]) -> VoxelBox? {
        var box: VoxelBox?
        let wanted = found.components.indices.map { kept[$0] && values.contains(found.components[$0].value) }
        found.forEachRun { component, _, run, row in
            guard wanted[component] else { return }
            let (j, k) = found.runs.place(ofRow: row)
            let ends = VoxelBox(lower: SIMD3(Int(run.begin), j, k), upper: SIMD3(Int(run.end), j + 1, k + 1))
            box = box?.union(ends) ?? ends
        }
        return box
    }
}

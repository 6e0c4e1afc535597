import NocturneCore
import NocturnePostprocess

/// Slow references: what the fast algorithms must agree with, written to be plainly right.
enum FloodFill {
    static func steps(_ connectivity: Connectivity) -> [Voxel] {
        var steps: [Voxel] = []
        for k in -1...1 {
            for j in -1...1 {
                for i in -1...1 {
                    let axes = abs(i) + abs(j) + abs(k)
                    let most = connectivity == .faces ? 1 : connectivity == .edges ? 2 : 3
                    if axes >= 1 && axes <= most { steps.append(Voxel(i, j, k)) }
                }
            }
        }
        return steps
    }

    /// The voxels of each component, in the order of their first voxels.
    static func components(
        of labels: PlainLabels,
        _ connectivity: Connectivity,
        where selected: (UInt16) -> Bool = { $0 != 0 }
    ) -> [[Voxel]] {
        var seen = Set<Voxel>()
        var components: [[Voxel]] = []
        let steps = steps(connectivity)
        for start in Voxel.all(of: labels.shape) where selected(labels[start]) && !seen.contains(start) {
            var component = [start]
            seen.insert(start)
            var next = 0
            while next < component.count {
                let voxel = component[next]
                next += 1
                for step in steps {
                    let other = Voxel(voxel.i + step.i, voxel.j + step.j, voxel.k + step.k)
                    if labels.contains(other), labels[other] == labels[voxel], seen.insert(other).inserted {
                        component.append(other)
                    }
                }
            }
            components.append(component)
        }
        return components
    }

    /// Components painted as number plus 1.
    static func painted(_ components: [[Voxel]], _ shape: VolumeShape) -> [UInt32] {
        var target = [UInt32](repeating: 0, count: shape.count)
        for (number, component) in components.enumerated() {
            for voxel in component { target[shape.offset(voxel.i, voxel.j, voxel.k)] = UInt32(number) + 1 }
        }
        return target
    }

    /// Empties what lies in the smaller components of the mask that `values` make together.
    static func largest(of values: Set<UInt16>, in labels: PlainLabels, _ connectivity: Connectivity) -> PlainLabels {
        var mask = labels
        mask.values = labels.values.map { values.contains($0) ? 1 : 0 }
        let components = components(of: mask, connectivity)
        let most = components.map(\.count).max() ?? 0
        var result = labels
        for component in components where component.count < most {
            for voxel in component { result[voxel] = 0 }
        }
        return result
    }

    /// Fills every background component that only one of `values` encloses.
    static func filled(_ labels: PlainLabels, _ values: Set<UInt16>) -> PlainLabels {
        var result = labels
        for component in components(of: labels, .faces, where: { $0 == 0 }) {
            var around = Set<UInt16>()
            var open = false
            for voxel in component {
                for step in steps(.faces) {
                    let other = Voxel(voxel.i + step.i, voxel.j + step.j, voxel.k + step.k)
                    if !labels.contains(other) {
                        open = true
                    } else if labels[other] != 0 {
                        around.insert(labels[other])
                    }
                }
            }
            if !open, around.count == 1, let value = around.first, values.contains(value) {
                for voxel in component { result[voxel] = value }
            }
        }
        return result
    }
}

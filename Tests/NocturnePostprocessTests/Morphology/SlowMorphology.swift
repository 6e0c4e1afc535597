import Foundation
import NocturneCore
import NocturnePostprocess

/// Operations on the shape of labels as their definitions say, voxel by voxel. Slow.
struct SlowMorphology {
    let spacing: SIMD3<Double>
    private let tolerance = 1e-6

    func applied(_ step: MorphologyStep, to labels: PlainLabels) -> PlainLabels {
        let values = Set(step.labels).subtracting([0]).sorted()
        let radius = step.millimetres
        var result = labels
        switch step.operation {
        case .erode:
            for value in values {
                change(&result, from: value, to: 0, where: eroded(mask(labels, value), radius), is: false)
            }
        case .open:
            for value in values {
                let opened = dilated(eroded(mask(labels, value), radius), radius)
                change(&result, from: value, to: 0, where: opened, is: false)
            }
        case .close:
            for value in values {
                let closed = eroded(dilated(mask(labels, value), radius), radius)
                change(&result, from: 0, to: value, where: closed, is: true)
            }
        case .dilate: dilate(&result, labels, values, radius)
        case .smooth: smooth(&result, labels, values, radius)
        }
        return result
    }

    private func mask(_ labels: PlainLabels, _ value: UInt16) -> PlainLabels {
        var mask = labels
        mask.values = labels.values.map { $0 == value ? 1 : 0 }
        return mask
    }

    private func change(
        _ labels: inout PlainLabels,
        from old: UInt16,
        to new: UInt16,
        where mask: PlainLabels,
        is wanted: Bool
    ) {
        for index in labels.values.indices where labels.values[index] == old && (mask.values[index] == 1) == wanted {
            labels.values[index] = new
        }
    }

    private func square(_ a: Voxel, _ b: Voxel) -> Double {
        let step = SIMD3(Double(a.i - b.i), Double(a.j - b.j), Double(a.k - b.k)) * spacing
        return (step * step).sum()
    }

    private func dilated(_ mask: PlainLabels, _ radius: Double) -> PlainLabels {
        spread(mask, of: 1, radius)
    }

    /// Voxels outside the volume are neither in the mask nor outside it.
    private func eroded(_ mask: PlainLabels, _ radius: Double) -> PlainLabels {
        var rest = spread(mask, of: 0, radius)
        rest.values = rest.values.map { 1 - $0 }
        return rest
    }

    /// 1 where a voxel of `value` is in the ball.
    private func spread(_ mask: PlainLabels, of value: UInt16, _ radius: Double) -> PlainLabels {
        let places = Voxel.all(of: mask.shape)
        let marked = places.filter { mask[$0] == value }
        var result = mask
        for place in places {
            let isNear = marked.contains { square(place, $0) <= radius * radius * (1 + tolerance) }
            result[place] = isNear ? 1 : 0
        }
        return result
    }

    private func dilate(_ result: inout PlainLabels, _ labels: PlainLabels, _ values: [UInt16], _ radius: Double) {
        let places = Voxel.all(of: labels.shape)
        for place in places where labels[place] == 0 {
            var nearest = radius * radius * (1 + 2 * tolerance)
            for value in values {
                let square = places.lazy.filter { labels[$0] == value }.map { self.square(place, $0) }.min()
                if let square, square < nearest * (1 - tolerance) {
                    nearest = square
                    result[place] = value
                }
            }
        }
    }

    private func smooth(_ result: inout PlainLabels, _ labels: PlainLabels, _ values: [UInt16], _ sigma: Double) {
        let places = Voxel.all(of: labels.shape)
        for place in places where labels[place] == 0 || values.contains(labels[place]) {
            var shares: [UInt16: Double] = [:]
            var sum = 0.0
            for other in places {
                let steps = [abs(place.i - other.i), abs(place.j - other.j), abs(place.k - other.k)]
                guard (0..<3).allSatisfy({ steps[$0] <= Int(4 * sigma / spacing[$0] + 0.5) }) else { continue }
                let weight = exp(-square(place, other) / (2 * sigma * sigma))
                shares[values.contains(labels[other]) ? labels[other] : 0, default: 0] += weight
                sum += weight
            }
            let own = labels[place]
            var largest = (shares[0] ?? 0) / sum + (own == 0 ? 1e-5 : 0)
            result[place] = 0
            for value in values {
                let share = (shares[value] ?? 0) / sum + (own == value ? 1e-5 : 0)
                if share > largest {
                    largest = share
                    result[place] = value
                }
            }
        }
    }
}

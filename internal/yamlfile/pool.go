package yamlfile

import "go.yaml.in/yaml/v3"

// A pool has nodes and the lists of their parts, to be used again.
type pool struct {
	nodes []*yaml.Node
	used  int          // of nodes
	parts []*yaml.Node // of nodes, in turn
	open  []*yaml.Node // parts of nodes that are being read
}

// A mark is a state of a pool.
type mark struct{ used, parts int }

func (p *pool) mark() mark { return mark{p.used, len(p.parts)} }

// release returns all nodes since a mark.
func (p *pool) release(to mark) { p.used, p.parts = to.used, p.parts[:to.parts] }

// poolStep is the number of nodes that are made together.
const poolStep = 64

func (p *pool) node() *yaml.Node {
	if p.used == len(p.nodes) {
		fresh := new([poolStep]yaml.Node)
		for i := range fresh {
			p.nodes = append(p.nodes, &fresh[i])
		}
	}
	n := p.nodes[p.used]
	p.used++
	*n = yaml.Node{}
	return n
}

func (p *pool) push(part *yaml.Node) { p.open = append(p.open, part) }

// end makes the open parts from begin on those of a node. Those of nodes within it go first.
func (p *pool) end(n *yaml.Node, begin int) {
	if parts := p.open[begin:]; len(parts) > 0 {
		from := len(p.parts)
		p.parts = append(p.parts, parts...)
		n.Content = p.parts[from:len(p.parts):len(p.parts)]
	}
	p.open = p.open[:begin]
}

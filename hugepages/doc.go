// Package hugepages moves filled memory of the process into huge pages, in the background. To
// find a key then takes the processor fewer accesses to page tables, most of all where these are
// those of a virtual machine.
//
// Memory is moved after it was filled (MADV_COLLAPSE, madvise(2)). To ask for huge pages before
// (MADV_HUGEPAGE) makes the first access to each wait until the system has cleared 2 MB.
package hugepages
